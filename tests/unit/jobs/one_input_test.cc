// Reduce steps with one producer, which need no table: they make what those with more of them make.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "jobs/engine/combine_one_input.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/testing/memory_steps.h"
#include "tests/unit/jobs/count_lines.h"

namespace weir {
namespace {

using testing::CountLines;
using testing::LinesOfCount;
using testing::MemoryPart;
using testing::MemoryRun;
using testing::MemorySource;
using testing::RecordingContext;
using testing::ScratchFile;

constexpr int kSlotCounts[] = {1, 2, 3, 7};

// Lines of one digit and a key: the digits of a key, in the order of the input.
struct JoinDigits : CountLines {
  using Value = std::string;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    emit(line.substr(1), std::string(line.substr(0, 1)));
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view key, const Value& value, std::string& out) const {
    absl::StrAppend(&out, std::string(key), " ", value, "\n");
  }
};

// Keys that are empty, short, long, alike in their first bytes, and one beyond a block.
std::string Lines() {
  std::string text = "\n\n" + std::string(kBlockFillBytes + 9, 'l') + "\n";
  for (int i = 0; i < 60'000; ++i) {
    absl::StrAppend(&text, i % 7, "\n", "of one beginning ", i % 20'011, "\n", i, "\n");
  }
  return text;
}

MemoryRun MapLines(JobProgram& program, std::string_view text) {
  const ScratchFile file(text);
  MemoryRun run;
  RecordingContext context(1);
  EXPECT_TRUE(program.Map({{file.range()}, {1.0}}, run, context).ok());
  return run;
}

ReduceOrder OrderOf(const MemoryRun& run) {
  ReduceOrder order;
  order.inputs.push_back(std::make_unique<MemorySource>(run.sections().at(0)));
  return order;
}

// The same with a second producer that made nothing: then there are tables.
ReduceOrder OrderOfTwo(const MemoryRun& run) {
  ReduceOrder order = OrderOf(run);
  order.inputs.push_back(std::make_unique<MemorySource>(std::vector<std::string>()));
  return order;
}

TEST(OneInput, ItsPartIsThatOfTables) {
  const auto program = MakeJobProgram(CountLines());
  const MemoryRun run = MapLines(*program, Lines());
  MemoryPart expected;
  RecordingContext one_slot(1);
  const auto of_tables = program->ReduceToPart(OrderOfTwo(run), expected, one_slot);
  ASSERT_TRUE(of_tables.ok());
  ASSERT_GT(of_tables->input_records, 80'000);
  for (const int num_slots : kSlotCounts) {
    MemoryPart part;
    RecordingContext context(num_slots);
    const auto totals = program->ReduceToPart(OrderOf(run), part, context);
    ASSERT_TRUE(totals.ok()) << totals.status();
    EXPECT_TRUE(part.text == expected.text) << num_slots << " slots";
    EXPECT_EQ(part.records, expected.records);
    EXPECT_EQ(totals->input_records, of_tables->input_records);
    EXPECT_EQ(totals->output_records, of_tables->output_records);
  }
}

TEST(OneInput, ItsPartIsTheSameWhereItWasOnDisk) {
  const auto program = MakeJobProgram(CountLines());
  const MemoryRun run = MapLines(*program, Lines());
  MemoryPart expected;
  RecordingContext enough(1);
  ASSERT_TRUE(program->ReduceToPart(OrderOf(run), expected, enough).ok());
  EXPECT_EQ(enough.num_spills, 0);
  for (const int num_slots : kSlotCounts) {
    MemoryPart part;
    RecordingContext context(num_slots);
    context.spill_above = 1 << 20;
    const auto totals = program->ReduceToPart(OrderOf(run), part, context);
    ASSERT_TRUE(totals.ok()) << totals.status();
    EXPECT_GT(context.num_spills, 1);
    EXPECT_TRUE(part.text == expected.text) << num_slots << " slots";
    EXPECT_EQ(totals->output_records, expected.records);
  }
}

TEST(OneInput, WithoutAPlaceForFilesItIsOutOfMemory) {
  const auto program = MakeJobProgram(CountLines());
  const MemoryRun run = MapLines(*program, Lines());
  for (const int num_slots : kSlotCounts) {
    MemoryPart part;
    RecordingContext context(num_slots, 1 << 20);
    EXPECT_EQ(program->ReduceToPart(OrderOf(run), part, context).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
}

TEST(OneInput, TheLayerBehindGetsAllOfIt) {
  const auto chain = MakeChainProgram(CountLines(), LinesOfCount());
  const MemoryRun run = MapLines(*chain, Lines());
  const auto part_of = [&](ReduceOrder order, int num_slots) {
    order.consumer_key_end = {1.0};
    MemoryRun next;
    RecordingContext context(num_slots);
    const auto totals = chain->ReduceToRun(std::move(order), next, context);
    EXPECT_TRUE(totals.ok()) << totals.status();
    EXPECT_GT(totals->input_records, 80'000);
    MemoryPart part;
    ReduceOrder last = OrderOf(next);
    last.layer = 2;
    EXPECT_TRUE(chain->ReduceToPart(std::move(last), part, context).ok());
    return part.text;
  };
  const std::string expected = part_of(OrderOfTwo(run), 1);
  ASSERT_FALSE(expected.empty());
  for (const int num_slots : kSlotCounts) {
    EXPECT_EQ(part_of(OrderOf(run), num_slots), expected) << num_slots << " slots";
  }
}

TEST(OneInput, SlotsShareItsBlocks) {
  const auto program = MakeJobProgram(CountLines());
  const MemoryRun run = MapLines(*program, Lines());
  ReduceOrder order = OrderOf(run);
  OneInputResults<CountLines> results(order.inputs, 3);
  RecordingContext context(3);
  std::vector<std::int64_t> taken(3);
  const absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
    return results.Visit(slot, stop, [&](std::string_view, std::int64_t) {
      ++taken[static_cast<std::size_t>(slot)];
      return absl::OkStatus();
    });
  });
  ASSERT_EQ(status, absl::OkStatus());
  EXPECT_EQ(taken[0] + taken[1] + taken[2], results.input_records());
  EXPECT_GT(*std::min_element(taken.begin(), taken.end()), results.input_records() / 6);
}

TEST(FewInputs, ValuesMeetInTheOrderOfTheInputsThatSlotsShare) {
  const auto program = MakeJobProgram(JoinDigits());
  std::vector<MemoryRun> runs;
  for (const int digit : {3, 1, 2}) {
    std::string text;
    for (int i = 0; i < 60'000; ++i) absl::StrAppend(&text, digit, "the key ", i % 50'000, "\n");
    runs.push_back(MapLines(*program, text));
    ASSERT_GT(runs.back().sections().at(0).size(), 3u);
  }
  for (const int num_slots : {1, 2, 3, 4, 7, 12}) {
    MemoryPart part;
    RecordingContext context(num_slots);
    ReduceOrder order;
    order.inputs = testing::SectionsOf(runs, 0);
    const auto totals = program->ReduceToPart(std::move(order), part, context);
    ASSERT_TRUE(totals.ok()) << totals.status();
    EXPECT_EQ(totals->input_records, 150'000);
    EXPECT_EQ(totals->output_records, 50'000);
    EXPECT_EQ(part.text.substr(0, 32), "the key 0 331122\nthe key 1 33112")
        << num_slots << " slots";
    EXPECT_NE(part.text.find("\nthe key 49999 312\n"), std::string::npos);
  }
}

// Where a job cannot be copied, or throws, on one slot, the others do not wait for that slot.
std::atomic<int> copies_until_one_throws = -1;
struct HardToCopy : LinesOfCount {
  HardToCopy() = default;
  HardToCopy(const HardToCopy& other) : LinesOfCount(other) {
    if (copies_until_one_throws >= 0 && copies_until_one_throws-- == 0) {
      throw std::runtime_error("no copy");
    }
  }
  HardToCopy(HardToCopy&&) = default;
};

struct ThrowsAtOne : LinesOfCount {
  template <typename Emit>
  void Map(std::string_view line, const std::int64_t& count, Emit& emit) {
    if (line == "12345") throw std::runtime_error("not that one");
    LinesOfCount::Map(line, count, emit);
  }
};

TEST(OneInput, NobodyWaitsForASlotThatThrew) {
  const auto hard = MakeChainProgram(CountLines(), HardToCopy());
  const auto throws = MakeChainProgram(CountLines(), ThrowsAtOne());
  const MemoryRun run = MapLines(*hard, Lines());
  const auto reduce = [&](JobProgram& program) {
    RecordingContext context(4);
    ReduceOrder order = OrderOf(run);
    order.consumer_key_end = {1.0};
    MemoryRun next;
    return program.ReduceToRun(std::move(order), next, context).status();
  };
  for (int copies = 0; copies < 4; ++copies) {
    copies_until_one_throws = copies;
    EXPECT_THROW(static_cast<void>(reduce(*hard)), std::runtime_error);
    copies_until_one_throws = -1;
    EXPECT_EQ(reduce(*hard), absl::OkStatus());
  }
  EXPECT_THROW(static_cast<void>(reduce(*throws)), std::runtime_error);
}

TEST(OneInput, DamageIsDataLossOnWhicheverSlot) {
  const auto chain = MakeChainProgram(CountLines(), LinesOfCount());
  const MemoryRun run = MapLines(*chain, Lines());
  std::vector<std::string> blocks = run.sections().at(0);
  ASSERT_GT(blocks.size(), 7u) << "enough for all slots";
  std::size_t at = blocks.size() - 2;
  while (blocks[at][0] != static_cast<char>(BlockKind::kWholeRecords)) --at;
  ASSERT_GT(at, 0u);
  std::vector<std::vector<std::string>> damaged(3, blocks);
  damaged[0][at].pop_back();                          // a record breaks off
  damaged[1][at] = std::string("\0\3\1abcd", 7);      // a value that does not decode
  damaged[2][at] = std::string("\0\xff\xff\xff", 4);  // a length without an end
  for (const auto& those : damaged) {
    for (const int num_slots : kSlotCounts) {
      RecordingContext context(num_slots);
      ReduceOrder order;
      order.inputs.push_back(std::make_unique<MemorySource>(those));
      order.consumer_key_end = {1.0};
      MemoryRun next;
      EXPECT_EQ(chain->ReduceToRun(std::move(order), next, context).status().code(),
                absl::StatusCode::kDataLoss);
      const auto program = MakeJobProgram(CountLines());
      ReduceOrder last;
      last.inputs.push_back(std::make_unique<MemorySource>(those));
      MemoryPart part;
      EXPECT_EQ(program->ReduceToPart(std::move(last), part, context).status().code(),
                absl::StatusCode::kDataLoss);
    }
  }
}

TEST(OneInput, AnEmptyOneIsAnEmptyPart) {
  const auto program = MakeJobProgram(CountLines());
  for (const int num_slots : kSlotCounts) {
    ReduceOrder order;
    order.inputs.push_back(std::make_unique<MemorySource>(std::vector<std::string>()));
    MemoryPart part;
    RecordingContext context(num_slots);
    const auto totals = program->ReduceToPart(std::move(order), part, context);
    ASSERT_TRUE(totals.ok());
    EXPECT_EQ(totals->output_records, 0);
    EXPECT_EQ(part.text, "");
  }
}

}  // namespace
}  // namespace weir
