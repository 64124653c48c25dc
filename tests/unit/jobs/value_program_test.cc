#include "jobs/engine/value_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "jobs/api/step_error.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/random_tree.h"

namespace weir {
namespace {

using testing::EvenCut;
using ::testing::HasSubstr;
using testing::Joined;
using testing::MapOf;
using testing::MemoryRun;
using testing::MemorySource;
using testing::RecordingContext;
using testing::ScratchFile;

// Lines with a number: a set of bits kept as bytes, which are the places.
struct BitSet {
  using Reader = TextLines;
  using Value = std::string;
  static constexpr bool kCommutative = true;
  static constexpr std::array<std::string_view, 1> kCounters = {"lines"};
  std::int64_t bytes = 16;

  std::int64_t ValueBytes() const { return bytes + 8; }
  std::int64_t Places() const { return bytes; }
  Value Neutral() const { return std::string(static_cast<std::size_t>(bytes), '\0'); }
  template <typename Emit>
  void Map(std::string_view line, Value& value, Emit& emit) {
    emit.Increment(0);
    std::uint64_t number = 0;
    if (!absl::SimpleAtoi(std::string(line), &number)) return emit.Reject(line, "no number");
    number %= 8 * value.size();
    value[number / 8] = static_cast<char>(value[number / 8] | (1 << (number % 8)));
  }
  void Combine(Value& into, const Value& from) const {
    ASSERT_EQ(into.size(), from.size()) << "pieces of the same places";
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = static_cast<char>(into[i] | from[i]);
  }
  Value Split(const Value& value, std::int64_t begin, std::int64_t end) const {
    EXPECT_LE(end, static_cast<std::int64_t>(value.size()));
    return value.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }
  void Join(Value& into, const Value& next) const { into += next; }
  void Format(std::int64_t begin, const Value& value, std::string& out) const {
    for (std::size_t i = 0; i < value.size(); ++i) {
      out += std::to_string(static_cast<std::size_t>(begin) + i) + " " +
             std::to_string(static_cast<unsigned char>(value[i])) + "\n";
    }
  }
};

// All lines, one after the other: the order shows, and nothing splits.
struct JoinLines {
  using Reader = TextLines;
  using Value = std::string;
  std::int64_t ValueBytes() const { return 100; }
  template <typename Emit>
  void Map(std::string_view line, Value& value, Emit&) {
    value.append(line).append("\n");
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::int64_t, const Value& value, std::string& out) const { out += value; }
};

std::string NumberLines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string((i * 7919 + i * i) % 10'007) + "\n";
  return text;
}

template <typename Job>
void ValueHoldsForAnyCut(const Job& job, bool splits) {
  testing::HoldsForAnyCut(*MakeValueProgram(job), NumberLines(*rc::gen::inRange(0, 60)), splits);
}

RC_GTEST_PROP(ValueProgram, AnyTreeOfPiecesIsTheSequentialFold, ()) {
  ValueHoldsForAnyCut(BitSet{*rc::gen::inRange<std::int64_t>(1, 40)}, true);
}

RC_GTEST_PROP(ValueProgram, AnyTreeOfWholeValuesKeepsTheOrderOfTheInput, ()) {
  ValueHoldsForAnyCut(JoinLines(), false);
}

TEST(ValueProgram, ValuesOfManyBlocksTravelInPieces) {
  const ScratchFile file(NumberLines(5000));
  const BitSet job{std::int64_t{3} << 20};
  const auto program = MakeValueProgram(job);
  const std::string expected = Joined(*testing::RunJob(*program, EvenCut({file.path()}, 1, 1, 1)));
  const auto parts = testing::RunAlongRandomTree(*program, EvenCut({file.path()}, 4, 1, 2), 2, 7);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_TRUE(Joined(*parts) == expected);
}

TEST(ValueProgram, WithoutRecordsTheValueIsNeutral) {
  const ScratchFile file("");
  EXPECT_EQ(Joined(*testing::RunJob(*MakeValueProgram(BitSet{3}), EvenCut({file.path()}, 3, 2, 2))),
            "0 0\n1 0\n2 0\n");
  EXPECT_EQ(
      Joined(*testing::RunJob(*MakeValueProgram(JoinLines()), EvenCut({file.path()}, 3, 1, 2))),
      "");
}

TEST(ValueProgram, AWorkerWithoutInputAndMoreReducersThanPlacesChangeNothing) {
  const ScratchFile file("3\n9\n");
  testing::JobCut cut = EvenCut({file.path()}, 1, 5, 2);
  cut.mappers.insert(cut.mappers.begin(), std::vector<InputRange>());
  EXPECT_EQ(Joined(*testing::RunJob(*MakeValueProgram(BitSet{2}), cut)), "0 8\n1 2\n");
}

absl::Status ReduceOf(JobProgram& program, const std::vector<std::vector<std::string>>& sections,
                      std::int64_t memory_bytes = 0) {
  ReduceOrder order;
  for (const auto& section : sections) {
    order.inputs.push_back(std::make_unique<MemorySource>(section));
  }
  testing::MemoryPart part;
  RecordingContext context(1, memory_bytes);
  return program.ReduceToPart(std::move(order), part, context).status();
}

TEST(ValueProgram, ValuesOfOtherPlacesDamagedOnesAndMissingPlacesAreNamed) {
  const ScratchFile file("1\n2\n30\n");
  const auto program = MakeValueProgram(BitSet{9});
  const MemoryRun nine = MapOf(*program, file);
  const MemoryRun eight = MapOf(*MakeValueProgram(BitSet{8}), file);
  const absl::Status other = ReduceOf(*program, {nine.sections().at(0), eight.sections().at(0)});
  EXPECT_EQ(other.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(other.message()), HasSubstr("a value of 8 places, expected 9"));

  std::vector<std::string> damaged = nine.sections().at(0);
  damaged[0].resize(damaged[0].size() - 1);
  EXPECT_EQ(ReduceOf(*program, {damaged}).code(), absl::StatusCode::kDataLoss);

  MemoryRun thirds;
  RecordingContext context(1);
  ASSERT_TRUE(program->Map({{file.range()}, {1 / 3.0, 2 / 3.0, 1.0}}, thirds, context).ok());
  const absl::Status missing =
      ReduceOf(*program, {thirds.sections().at(0), thirds.sections().at(2)});
  EXPECT_EQ(missing.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("places 3 to 5 of the value"));
}

TEST(ValueProgram, AValueThatFillsTheMemoryIsNamed) {
  const ScratchFile file("1\n2\n");
  const BitSet huge{1 << 20};
  RecordingContext narrow(2, 1 << 20);
  MemoryRun run;
  const absl::Status map =
      MakeValueProgram(huge)->Map({{file.range()}, {1.0}}, run, narrow).status();
  ASSERT_TRUE(StepErrorOf(map).has_value()) << map;
  EXPECT_EQ(StepErrorOf(map)->code, step_error::kOutOfMemory);
  const auto program = MakeValueProgram(huge);
  const MemoryRun made = MapOf(*program, file);
  const absl::Status reduce = ReduceOf(*program, {made.sections().at(0)}, 1 << 20);
  ASSERT_TRUE(StepErrorOf(reduce).has_value()) << reduce;
  EXPECT_EQ(StepErrorOf(reduce)->code, step_error::kOutOfMemory);
  const absl::Status none =
      MakeValueProgram(BitSet{0})->Map({{file.range()}, {1.0}}, run, narrow).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kInvalidArgument);
}

struct WholeBitSet : BitSet {
  static constexpr bool kOneReducer = true;
};

TEST(ValueProgram, AResultOfTheWholeValueHasOneReducer) {
  const ScratchFile file("1\n2\n");
  EXPECT_TRUE(ValueElement(WholeBitSet()).one_reducer);
  EXPECT_TRUE(ValueElement(WholeBitSet()).splits);
  EXPECT_TRUE(ValueElement(JoinLines()).one_reducer);
  EXPECT_FALSE(ValueElement(BitSet()).one_reducer);
  const auto program = MakeValueProgram(WholeBitSet());
  EXPECT_TRUE(testing::RunJob(*program, EvenCut({file.path()}, 2, 1, 1)).ok());
  const absl::Status two = testing::RunJob(*program, EvenCut({file.path()}, 2, 2, 1)).status();
  EXPECT_EQ(two.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(two.message()), HasSubstr("[0, 8) of 16; run it with one reducer"));
}

struct JoinLinesInAnyOrder : JoinLines {
  static constexpr bool kCommutative = true;
};
struct Restarting : JoinLines {
  void Combine(Value& into, const Value& from) const { into = into.substr(1) + from; }
};
struct ForgetfulPieces : BitSet {
  void Join(Value& into, const Value& next) const { into += std::string(next.size(), '\0'); }
};
struct FullNeutral : BitSet {
  Value Neutral() const { return std::string(static_cast<std::size_t>(bytes), '\x40'); }
  void Combine(Value& into, const Value& from) const {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = static_cast<char>(into[i] ^ from[i]);
  }
};

template <typename Job>
std::string CodeOf(const Job& job, bool check = true) {
  const ScratchFile file("17\n125\n60\n5\n");
  MemoryRun run;
  RecordingContext context(1);
  context.check_operation = check;
  const absl::Status status =
      MakeValueProgram(job)->Map({{file.range()}, {1.0}}, run, context).status();
  if (status.ok()) return "";
  return StepErrorOf(status) ? StepErrorOf(status)->code : status.ToString();
}

TEST(ValueProgram, OperationsThatAreNotWhatTheyAreDeclaredToBeAreNamed) {
  EXPECT_EQ(CodeOf(BitSet()), "");
  EXPECT_EQ(CodeOf(JoinLines()), "");
  EXPECT_EQ(CodeOf(JoinLinesInAnyOrder()), step_error::kNotCommutative);
  EXPECT_EQ(CodeOf(JoinLinesInAnyOrder(), false), "") << "told not to try";
  EXPECT_EQ(CodeOf(Restarting()), step_error::kNotAssociative);
  EXPECT_EQ(CodeOf(ForgetfulPieces()), step_error::kDoesNotSplit);
  EXPECT_EQ(CodeOf(FullNeutral()), step_error::kNotNeutral);
}

TEST(ValueProgram, ElementsSayWhatTheClassesSay) {
  const ElementInfo bits = ValueElement(BitSet{10});
  EXPECT_EQ(bits.kind, ElementKind::kVector);
  EXPECT_EQ(bits.places, 10);
  EXPECT_EQ(bits.place_bytes, 2) << "18 bytes in 10 places";
  EXPECT_TRUE(bits.commutative);
  EXPECT_TRUE(bits.splits);
  const ElementInfo lines = ValueElement(JoinLines());
  EXPECT_EQ(lines.places, 1);
  EXPECT_EQ(lines.place_bytes, 100);
  EXPECT_FALSE(lines.commutative);
  EXPECT_FALSE(lines.splits);
  static_assert(SplitsItsValue<BitSet>);
  static_assert(!SplitsItsValue<JoinLines>);
}

}  // namespace
}  // namespace weir
