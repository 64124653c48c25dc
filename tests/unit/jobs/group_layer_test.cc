#include "jobs/engine/group_layer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"
#include "jobs/api/readers.h"
#include "jobs/api/step_error.h"
#include "jobs/api/value_codec.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

using namespace std::string_literals;
using testing::EvenCut;
using testing::RunJob;
using testing::ScratchFile;

// Lines "key value": joins the values of a key in the order of the input, which no fold of
// commutative parts could.
struct JoinValues {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::string;
  static constexpr std::array<std::string_view, 2> kCounters = {"lines", "empty"};

  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    emit.Increment(0);
    if (line.empty()) emit.Increment(1);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return emit.Reject(line, "no space");
    emit(line.substr(0, space), std::string(line.substr(space + 1)));
  }
  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<std::string>& values, Emit&& emit) const {
    std::string joined, value;
    while (values.Next(value)) joined += (joined.empty() ? "" : ",") + value;
    emit(key, joined);
  }
  void Format(std::string_view key, std::string_view joined, std::string& out) const {
    out.append(key).append("=").append(joined).append("\n");
  }
};

// Groups whose values are not all read; numbers as keys; places of its own.
struct FirstOfEach {
  using Reader = FixedRecords<2>;
  using Key = std::int8_t;
  using Value = std::tuple<char, std::string>;

  template <typename Emit>
  void Map(std::string_view record, Emit& emit) {
    emit(static_cast<std::int8_t>(record[0]), {record[1], "x"});
  }
  template <typename Emit>
  void Reduce(std::int8_t key, GroupValues<Value>& values, Emit&& emit) const {
    Value value;
    if (values.Next(value)) emit(key, std::get<0>(value));
  }
  void Format(std::int8_t key, char value, std::string& out) const {
    out += std::to_string(key) + value + "\n";
  }
  double Partition(std::int8_t key) const { return (key + 128) / 256.0; }
};

// Rows "key,number,text": joins the texts of a key by number; Order turns a number into the sort
// key.
template <typename Order>
struct JoinByNumber {
  using Reader = CsvRows;
  using Key = std::string;
  using Value = std::tuple<std::int64_t, std::string>;

  template <typename Emit>
  void Map(const CsvRow& row, Emit& emit) {
    emit(row.fields[0], {std::stoll(std::string(row.fields[1])), std::string(row.fields[2])});
  }
  auto SortKey(const Value& value) const { return Order()(value); }
  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<Value>& values, Emit&& emit) const {
    std::string joined;
    Value value;
    while (values.Next(value)) joined += std::get<1>(value) + ".";
    emit(key, joined);
  }
  void Format(std::string_view key, std::string_view joined, std::string& out) const {
    out.append(key).append("=").append(joined).append("\n");
  }
};

struct OldestFirst {
  std::int64_t operator()(const auto& value) const { return std::get<0>(value); }
};
struct NewestFirst {
  std::int64_t operator()(const auto& value) const { return -std::get<0>(value); }
};
struct ByLastLetterThenNumber {
  auto operator()(const auto& value) const {
    return std::tuple(std::get<1>(value).substr(std::get<1>(value).size() - 1), std::get<0>(value));
  }
};
struct ByText {
  const std::string& operator()(const auto& value) const { return std::get<1>(value); }
};

// Two values of each key, as who joins two tables expects; throws where there are fewer.
struct JoinTwo : JoinValues {
  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<std::string>& values, Emit&& emit) const {
    std::string first, second;
    if (!values.Next(first) || !values.Next(second)) throw std::runtime_error("one is missing");
    emit(key, first + second);
  }
};

// Takes what JoinValues emits, and accepts nothing but two joined values.
struct CountPairs {
  using Key = std::string;
  using Value = std::int64_t;
  template <typename Emit>
  void Map(std::string_view key, const std::string& joined, Emit& emit) {
    if (joined.find(',') == std::string::npos) return emit.Reject(joined, "one is missing");
    emit(key, 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view key, const Value& count, std::string& out) const {
    out.append(key).append(std::to_string(count)).append("\n");
  }
};

// Gives some blocks, then what a run gives whose next one is damaged.
class BreakingSource : public RunSource {
 public:
  explicit BreakingSource(std::vector<std::string> blocks) : blocks_(std::move(blocks)) {}
  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    if (next_ == blocks_.size()) return absl::DataLossError("the run is damaged");
    return absl::Span<const char>(blocks_[next_++]);
  }

 private:
  std::vector<std::string> blocks_;
  std::size_t next_ = 0;
};

using KeyedLines = std::vector<std::pair<std::string, std::string>>;

std::string JoinBySight(KeyedLines lines) {
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text, last;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool same = i > 0 && lines[i].first == lines[i - 1].first;
    if (!same) text += (i > 0 ? "\n" : "") + lines[i].first + "=";
    text += (same ? "," : "") + lines[i].second;
  }
  return text + (lines.empty() ? "" : "\n");
}

RC_GTEST_PROP(GroupLayerProperty, MergesAsStableSortDoes, ()) {
  const auto keys = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 12));
  KeyedLines lines;
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    // The empty key, keys that are prefixes of others, keys that differ behind eight bytes.
    const std::string key =
        keys[i] == 0 ? "" : "longer-than-8-" + std::string(static_cast<std::size_t>(keys[i]), 'k');
    lines.emplace_back(key, std::to_string(i));
    text += key + " " + std::to_string(i) + "\n";
  }
  const ScratchFile file(text);
  const auto program = MakeJobProgram(JoinValues());
  const auto cut = EvenCut({file.path()}, *rc::gen::inRange(1, 5), 1, *rc::gen::inRange(1, 4));
  const auto parts = RunJob(*program, cut);
  RC_ASSERT(parts.ok());
  RC_ASSERT((*parts)[0] == JoinBySight(lines));
}

// Against one stable sort of all rows, for any cut into mappers, reducers and slots.
template <typename Order>
void CheckSecondarySort() {
  using Job = JoinByNumber<Order>;
  struct Row {
    std::string key;
    typename Job::Value value;
  };
  // Few keys and numbers, so that there are ties.
  const auto numbers = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::inRange(-4, 5)));
  std::vector<Row> rows;
  std::string text;
  for (const auto& [key, number] : numbers) {
    const std::string name = "key-of-many-bytes"s.substr(0, static_cast<std::size_t>(3 * key));
    rows.push_back({name, {number, std::to_string(rows.size())}});
    text += name + "," + std::to_string(number) + "," + std::to_string(rows.size() - 1) + "\n";
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(a.key, Order()(a.value)) < std::tuple(b.key, Order()(b.value));
  });
  std::map<std::string, std::string> expected;
  for (const Row& row : rows) expected[row.key] += std::get<1>(row.value) + ".";

  const ScratchFile file(text);
  const auto program = MakeJobProgram(Job());
  const auto cut = EvenCut({file.path()}, *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 4),
                           *rc::gen::inRange(1, 4));
  const auto parts = RunJob(*program, cut);
  RC_ASSERT(parts.ok());
  std::map<std::string, std::string> got;
  for (const std::string& part : *parts) {
    std::istringstream lines(part);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t equals = line.find('=');
      got[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }
  RC_ASSERT(got == expected);
}

RC_GTEST_PROP(SecondarySortProperty, OldestFirst, ()) { CheckSecondarySort<OldestFirst>(); }
RC_GTEST_PROP(SecondarySortProperty, NewestFirst, ()) { CheckSecondarySort<NewestFirst>(); }
RC_GTEST_PROP(SecondarySortProperty, ByTuple, ()) { CheckSecondarySort<ByLastLetterThenNumber>(); }
RC_GTEST_PROP(SecondarySortProperty, ByText, ()) { CheckSecondarySort<ByText>(); }

TEST(GroupLayer, EveryGroupIsInOnePart) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "k" + std::to_string(i % 97) + " v\n";
  const ScratchFile file(text);
  const auto program = MakeJobProgram(JoinValues());
  const auto cut = EvenCut({file.path()}, 3, 4, 2);
  const auto parts = RunJob(*program, cut);
  ASSERT_TRUE(parts.ok()) << parts.status();
  std::size_t groups = 0;
  for (const std::string& part : *parts) {
    groups += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
  }
  EXPECT_EQ(groups, 97u);
}

TEST(GroupLayer, ValuesMayBeLeftAndPlacesChosen) {
  const ScratchFile file(
      "\x05"
      "b"
      "\xfb"
      "c"
      "\x05"
      "d"
      "\x7f"
      "e");
  const auto program = MakeJobProgram(FirstOfEach());
  const auto parts = RunJob(*program, EvenCut({file.path()}, 2, 2, 2));
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0], "-5c\n");
  EXPECT_EQ((*parts)[1], "5b\n127e\n");
}

TEST(GroupLayer, CountersAndMemoryAreKept) {
  const std::string text = "a 1\nb 2\nb 3\n";
  const ScratchFile file(text);
  const auto program = MakeJobProgram(JoinValues());
  testing::RecordingContext context(2);
  testing::MemoryRun run;
  const auto totals = program->Map({{file.range()}, {1.0}}, run, context);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->input_records, 3);
  EXPECT_EQ(context.counters["lines"], 3);
  EXPECT_EQ(context.counters["empty"], 0);

  testing::RecordingContext tight(1, 1000);
  testing::MemoryRun none;
  const auto error = StepErrorOf(program->Map({{file.range()}, {1.0}}, none, tight).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kOutOfMemory);
}

// A value that does not decode has no sort key either.
TEST(GroupLayer, DamagedValueWithASortKeyIsDataLoss) {
  testing::MemoryRun run;
  SectionWriter writer(run);
  ASSERT_TRUE(writer.Begin(0).ok());
  ASSERT_TRUE(writer.Add("key", "short").ok());
  ASSERT_TRUE(writer.Finish().ok());
  ReduceOrder order;
  order.inputs.push_back(std::make_unique<testing::MemorySource>(run.sections().at(0)));
  testing::MemoryPart part;
  testing::RecordingContext context(1);
  const auto program = MakeJobProgram(JoinByNumber<OldestFirst>());
  const auto totals = program->ReduceToPart(std::move(order), part, context);
  EXPECT_EQ(totals.status().code(), absl::StatusCode::kDataLoss) << totals.status();
}

// Who made the run makes it again, whatever the job makes of the part of a group that it saw.
TEST(GroupLayer, AGroupThatBreaksOffIsNoFaultOfTheJob) {
  testing::MemoryRun run;
  SectionWriter writer(run);
  ASSERT_TRUE(writer.Begin(0).ok());
  for (const auto& [key, value] : KeyedLines{{"a", "1"}, {"a", "2"}, {"b", "1"}}) {
    std::string bytes;
    ValueCodec<std::string>::Append(value, bytes);
    ASSERT_TRUE(writer.Add(key, bytes).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  const auto order = [&run] {
    ReduceOrder reduce;
    reduce.consumer_key_end = {1.0};
    reduce.inputs.push_back(std::make_unique<BreakingSource>(run.sections().at(0)));
    return reduce;
  };
  for (const int slots : {1, 3}) {
    testing::RecordingContext context(slots);
    testing::MemoryPart part;
    const auto throwing = MakeJobProgram(JoinTwo())->ReduceToPart(order(), part, context);
    EXPECT_EQ(throwing.status().code(), absl::StatusCode::kDataLoss) << throwing.status();

    testing::MemoryRun next;
    const auto chain = MakeChainProgram(JoinValues(), CountPairs());
    const auto rejecting = chain->ReduceToRun(order(), next, context);
    EXPECT_EQ(rejecting.status().code(), absl::StatusCode::kDataLoss) << rejecting.status();
  }
}

// What the job itself throws of a whole group stays its own.
TEST(GroupLayer, AWholeGroupThatTheJobRefusesIsItsOwnFault) {
  const ScratchFile file("a 1\na 2\nb 1\n");
  const auto program = MakeJobProgram(JoinTwo());
  for (const int slots : {1, 3}) {
    const auto cut = EvenCut({file.path()}, 1, 1, slots);
    EXPECT_THROW((void)RunJob(*program, cut), std::runtime_error);
  }
}

TEST(GroupLayer, HugeValuesCrossBlocks) {
  std::string text = "k " + std::string(700 << 10, 'v') + "\nk w\n";
  const ScratchFile file(text);
  const auto parts = RunJob(*MakeJobProgram(JoinValues()), EvenCut({file.path()}, 1, 1, 1));
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0], "k=" + std::string(700 << 10, 'v') + ",w\n");
}

}  // namespace
}  // namespace weir
