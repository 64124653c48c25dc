// Rejected records that are left out: by readers of lines, by jobs that read whole blocks, and by
// later layers.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/api/readers.h"
#include "jobs/engine/make_program.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

using testing::MemoryPart;
using testing::MemoryRun;
using testing::MemorySource;
using testing::RecordingContext;
using testing::ScratchFile;

struct CountGood {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::int64_t;

  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    if (line.substr(0, 3) == "bad") return emit.Reject(line, "bad by name");
    emit(line, 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view line, const Value& count, std::string& out) const {
    out.append(line).append("=").append(std::to_string(count)).append("\n");
  }
};

// The same with whole blocks: returns at the first bad line, as such jobs must.
struct CountGoodInBlocks : CountGood {
  using Reader = Block<Newline>;
  bool names_place = true;

  template <typename Emit>
  void Map(const TextBlock& block, Emit& emit) {
    for (std::string_view text = block.text(); !text.empty();) {
      const std::string_view line = text.substr(0, text.find('\n'));
      if (line.substr(0, 3) == "bad") {
        const std::string copy(line);
        return emit.Reject(names_place ? line : copy, "bad by name");
      }
      emit(line, 1);
      text.remove_prefix(line.size() + 1);
    }
  }
};

struct RefuseSome {
  using Key = std::string;
  using Value = std::int64_t;

  template <typename Emit>
  void Map(std::string_view line, const std::int64_t& count, Emit& emit) {
    if (count > 1) return emit.Reject(line, "more than one");
    emit(line, count);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view line, const Value& count, std::string& out) const {
    CountGood().Format(line, count, out);
  }
};

constexpr char kText[] = "bad first\na\nb\nbad\na\nbad in a row\nbad last";

struct Outcome {
  absl::Status status;
  std::string text;
  std::vector<BadRecord> skipped;
};

Outcome RunOneStep(JobProgram& program, std::string_view text, std::size_t skip_bad,
                   int slots = 1) {
  const ScratchFile file(text);
  Outcome outcome;
  MemoryRun run;
  RecordingContext context(slots);
  context.skip_bad = skip_bad;
  outcome.status = program.Map({{file.range()}, {1.0}}, run, context).status();
  outcome.skipped = context.skipped;
  if (!outcome.status.ok()) return outcome;
  ReduceOrder order;
  const auto section = run.sections().find(0);
  if (section != run.sections().end()) {
    order.inputs.push_back(std::make_unique<MemorySource>(section->second));
  }
  MemoryPart part;
  outcome.status = program.ReduceToPart(std::move(order), part, context).status();
  outcome.text = part.text;
  return outcome;
}

TEST(SkipBad, LinesAndBlocksLeaveOutTheSameRecords) {
  for (int slots = 1; slots < 4; ++slots) {
    for (const bool blocks : {false, true}) {
      const auto program =
          blocks ? MakeJobProgram(CountGoodInBlocks()) : MakeJobProgram(CountGood());
      const Outcome outcome = RunOneStep(*program, kText, 4, slots);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status;
      EXPECT_EQ(outcome.text, "a=2\nb=1\n") << blocks << slots;
      EXPECT_EQ(outcome.skipped.size(), 4u);
      for (const BadRecord& bad : outcome.skipped) {
        EXPECT_EQ(std::string(kText).compare(static_cast<std::size_t>(bad.byte_offset),
                                             bad.content.size(), bad.content),
                  0)
            << bad.content << " at " << bad.byte_offset;
      }
    }
  }
}

TEST(SkipBad, OneMoreEndsTheStepAndIsNamed) {
  for (const bool blocks : {false, true}) {
    const auto program = blocks ? MakeJobProgram(CountGoodInBlocks()) : MakeJobProgram(CountGood());
    const Outcome outcome = RunOneStep(*program, kText, 3);
    const auto bad = BadRecordOf(outcome.status);
    ASSERT_TRUE(bad.has_value()) << outcome.status;
    EXPECT_EQ(bad->content, "bad last");
    const auto first = BadRecordOf(RunOneStep(*program, kText, 0).status);
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->content, "bad first");
    EXPECT_EQ(first->byte_offset, 0);
  }
}

TEST(SkipBad, ABlockCannotGoOnBehindARecordWithoutAPlace) {
  CountGoodInBlocks job;
  job.names_place = false;
  const auto bad = BadRecordOf(RunOneStep(*MakeJobProgram(job), kText, 100).status);
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->reason, "the job rejected a record outside its block");
}

TEST(SkipBad, LaterLayersLeaveOutResultsOfTheLayerBefore) {
  const ScratchFile file("a\nb\na\nc\n");
  const auto program = MakeChainProgram(CountGood(), RefuseSome());
  RecordingContext context(2);
  context.skip_bad = 1;
  MemoryRun mapped, reduced;
  ASSERT_TRUE(program->Map({{file.range()}, {1.0}}, mapped, context).ok());
  ReduceOrder order;
  order.inputs.push_back(std::make_unique<MemorySource>(mapped.sections().at(0)));
  order.consumer_key_end = {1.0};
  const auto totals = program->ReduceToRun(std::move(order), reduced, context);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->output_records, 2);
  ASSERT_EQ(context.skipped.size(), 1u);
  EXPECT_EQ(context.skipped[0].content, "a");
  EXPECT_EQ(context.skipped[0].file, "");
}

}  // namespace
}  // namespace weir
