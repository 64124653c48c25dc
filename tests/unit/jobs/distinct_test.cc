#include "jobs/distinct/distinct.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/api/step_error.h"
#include "jobs/distinct/hyper_log_log.h"
#include "jobs/records/random_numbers.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/random_tree.h"

namespace weir::distinct {
namespace {

using testing::EvenCut;
using testing::ScratchFile;

using Given = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<JobProgram> Program(const Given& given) {
  return testing::ProgramOf(*MakeDefinition(), given);
}

absl::StatusOr<std::string> RunOn(const std::string& text, const Given& given, int mappers = 1,
                                  int reducers = 1, int slots = 1) {
  return testing::RunOnText(*Program(given), text, mappers, reducers, slots);
}

std::string BytesOf(const HyperLogLog& sketch) {
  std::string bytes;
  sketch.AppendTo(bytes);
  return bytes;
}

HyperLogLog SketchOf(std::uint64_t seed, std::uint64_t count) {
  HyperLogLog sketch;
  for (std::uint64_t i = 0; i < count; ++i) sketch.Add(RandomOf(seed, i, 0));
  return sketch;
}

TEST(HyperLogLog, IsExactUpToItsHashes) {
  HyperLogLog sketch;
  EXPECT_EQ(sketch.Estimate(), 0);
  for (std::uint64_t i = 0; i < HyperLogLog::kHashesMax; ++i) {
    for (int again = 0; again < 2; ++again) sketch.Add(RandomOf(1, i, 0));
    ASSERT_EQ(sketch.Estimate(), static_cast<std::int64_t>(i + 1));
  }
  EXPECT_TRUE(sketch.exact());
  sketch.Add(RandomOf(1, HyperLogLog::kHashesMax, 0));
  EXPECT_FALSE(sketch.exact());
}

// The scatter of the estimate, over many sketches of each size: no bias, and the standard error
// that the registers promise. Seeds are fixed.
TEST(HyperLogLog, ErrorsAreThoseOfItsRegisters) {
  const double standard_error = 1.04 / std::sqrt(HyperLogLog::kRegisters);
  for (const std::int64_t count : {1025, 3000, 10'000, 40'000, 100'000}) {
    constexpr int kTries = 60;
    double sum = 0, squares = 0;
    for (int seed = 0; seed < kTries; ++seed) {
      const HyperLogLog sketch =
          SketchOf(static_cast<std::uint64_t>(seed + 100), static_cast<std::uint64_t>(count));
      const double error =
          static_cast<double>(sketch.Estimate() - count) / static_cast<double>(count);
      EXPECT_LT(std::abs(error), 4 * standard_error) << count << " seed " << seed;
      sum += error;
      squares += error * error;
    }
    EXPECT_LT(std::abs(sum / kTries), 3.5 * standard_error / std::sqrt(kTries)) << count;
    // Few values are known better than many.
    EXPECT_LT(std::sqrt(squares / kTries), 1.3 * standard_error) << count;
  }
}

TEST(HyperLogLog, RegistersByHand) {
  // Registers are made by 1025 hashes of register 0 whose next bit is 1.
  HyperLogLog sketch;
  for (std::uint64_t i = 0; i <= HyperLogLog::kHashesMax; ++i) sketch.Add((i | 2048) << 38);
  ASSERT_FALSE(sketch.exact());
  std::string bytes = BytesOf(sketch);
  ASSERT_EQ(bytes.size(), 4 + HyperLogLog::kRegisters);
  sketch.Add(std::uint64_t{5} << 50);  // register 5, no 1 behind
  sketch.Add(std::uint64_t{6} << 50 | 1);
  sketch.Add(std::uint64_t{7} << 50 | std::uint64_t{1} << 49);
  sketch.Add(~std::uint64_t{0});
  bytes = BytesOf(sketch).substr(4);
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[5], 51);
  EXPECT_EQ(bytes[6], 50);
  EXPECT_EQ(bytes[7], 1);
  EXPECT_EQ(bytes[HyperLogLog::kRegisters - 1], 1);
  EXPECT_EQ(bytes[8], 0);
}

RC_GTEST_PROP(HyperLogLogProperty, AnyGroupingAndOrderGiveTheSameBytes, ()) {
  // Around the change of form, with many hashes in common.
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 2500);
  const auto num_parts = *rc::gen::inRange<std::size_t>(1, 6);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const HyperLogLog whole = SketchOf(seed, count);
  std::vector<HyperLogLog> parts(num_parts);
  for (std::uint64_t i = count; i-- > 0;) {
    parts[RandomOf(seed, i, 1) % num_parts].Add(RandomOf(seed, i, 0));
    parts[RandomOf(seed, i, 2) % num_parts].Merge(HyperLogLog(RandomOf(seed, i, 0)));
  }
  while (parts.size() > 1) {
    const auto into = *rc::gen::inRange<std::size_t>(0, parts.size() - 1);
    parts[into].Merge(parts.back());
    parts.pop_back();
  }
  RC_ASSERT(BytesOf(parts[0]) == BytesOf(whole));
  parts[0].Merge(whole);
  RC_ASSERT(BytesOf(parts[0]) == BytesOf(whole));
  const std::string bytes = BytesOf(whole) + "rest";
  std::string_view in = bytes;
  HyperLogLog back = SketchOf(seed + 1, 2000);
  RC_ASSERT(HyperLogLog::Take(in, back));
  RC_ASSERT(in == "rest");
  RC_ASSERT(BytesOf(back) == BytesOf(whole));
}

TEST(HyperLogLog, BytesThatAreNotASketchAreRefused) {
  const std::string few = BytesOf(SketchOf(1, 5));
  const std::string many = BytesOf(SketchOf(1, 2000));
  std::string unordered = few, high_rank = many, too_many = few;
  std::swap_ranges(unordered.begin() + 4, unordered.begin() + 12, unordered.begin() + 12);
  high_rank[100] = HyperLogLog::kRankMax + 1;
  too_many[1] = 5;  // 1285 hashes
  too_many.resize(4 + 1285 * 8, 'x');
  for (const std::string& bad : {std::string(), few.substr(0, 3), few.substr(0, few.size() - 1),
                                 many.substr(0, many.size() - 1), unordered, high_rank, too_many}) {
    std::string_view in = bad;
    HyperLogLog sketch;
    EXPECT_FALSE(HyperLogLog::Take(in, sketch)) << bad.size();
  }
}

TEST(Distinct, ColumnsByHand) {
  const std::string text = "name,town\r\nann,Ulm\nbob,\"Ulm\"\nann,\ncid,Bonn\nname,town\n";
  EXPECT_EQ(*RunOn(text, {{"header", "name,town"}}), "name\t3\ntown\t2\n");
  EXPECT_EQ(*RunOn(text, {{"columns", "2"}}), "1\t4\n2\t3\n");
  EXPECT_EQ(*RunOn(text, {{"header", "name,town"}, {"column", "town"}}), "town\t2\n");
  EXPECT_EQ(*RunOn(text, {{"header", "name,town"}, {"column", "name"}, {"key", "town"}}),
            "\t1\nBonn\t1\nUlm\t2\n");
  EXPECT_EQ(*RunOn("", {{"columns", "2"}}, 2, 3, 2), "");
  EXPECT_EQ(*RunOn("\n\n", {{"columns", "1"}}), "");
}

TEST(Distinct, CountersTellWhatWasCounted) {
  const ScratchFile file("a,b\n1,2\n1,\na,b\n");
  testing::RecordingContext context(1);
  testing::MemoryRun run;
  ASSERT_TRUE(Program({{"header", "a,b"}})->Map({{file.range()}, {1.0}}, run, context).ok());
  EXPECT_EQ(context.counters["values"], 3);
  EXPECT_EQ(context.counters["missing_values"], 1);
  EXPECT_EQ(context.counters["header_lines"], 2);
}

TEST(Distinct, BadRowsAreNamed) {
  const std::string good = "a,b\n";
  const std::tuple<Given, std::string, std::string> wrong[] = {
      {{{"columns", "2"}}, "a\n", "expected 2 fields"},
      {{{"columns", "2"}}, "a,b,c\n", "expected 2 fields"},
      {{{"column", "2"}}, "a\n", "at least 2 fields"},
      {{{"column", "1"}, {"key", "2"}}, "\n", "at least 2 fields"},
      {{{"column", "1"}, {"key", "2"}}, "a,b\tc\n", "control character"},
      {{{"columns", "2"}}, "a,\"b\n", "quote"}};
  for (const auto& [given, line, reason] : wrong) {
    const auto bad = BadRecordOf(RunOn(good + line + good, given).status());
    ASSERT_TRUE(bad.has_value()) << line;
    EXPECT_NE(bad->reason.find(reason), std::string::npos) << bad->reason;
    EXPECT_EQ(bad->byte_offset, static_cast<std::int64_t>(good.size())) << line;
  }
}

TEST(Distinct, ItsTableMayBeCombinedInAnyOrder) {
  const auto definition = MakeDefinition();
  for (const Given& given : {Given{{"columns", "2"}}, Given{{"column", "1"}, {"key", "2"}}}) {
    const auto values = CheckParameters(definition->info(), given);
    const ElementInfo element = definition->Element(*values, 1);
    EXPECT_EQ(element.kind, ElementKind::kTable);
    EXPECT_TRUE(element.commutative);
  }
}

TEST(Distinct, GeneratedRowsDependOnNumberAndSeedOnly) {
  const auto definition = MakeDefinition();
  ASSERT_NE(definition->data(), nullptr);
  const auto make = [&](std::uint64_t seed, std::int64_t first, std::int64_t count) {
    auto generator = definition->data()->MakeGenerator({.seed = seed, .skew = 0.3});
    std::string text;
    for (std::int64_t i = first; i < first + count; ++i) (*generator)->Append(i, text);
    return text;
  };
  EXPECT_EQ(make(1, 0, 7) + make(1, 7, 20), make(1, 0, 27));
  EXPECT_NE(make(1, 0, 27), make(2, 0, 27));
  const auto check = definition->data()->MakeCheck(DataOrder::kAny);
  check->BeginFile("rows");
  EXPECT_TRUE(check->Add(make(1, 0, 1000)).ok());
  EXPECT_TRUE(check->EndFile().ok());
  EXPECT_FALSE(definition->data()->MakeGenerator({.seed = 1, .skew = 1}).ok());
}

RC_GTEST_PROP(DistinctProperty, AnyCutAndTreeGiveTheCountsOfSets, ()) {
  const auto rows = *rc::gen::inRange(0, 400);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  std::map<std::string, std::set<std::string>> sets;
  std::string text;
  for (int i = 0; i < rows; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    const std::string key = "key" + std::to_string(RandomOf(seed, n, 0) % 7);
    const std::string value = std::to_string(RandomOf(seed, n, 1) % 90);
    sets[key].insert(value);
    text += key + "," + value + "\n";
  }
  std::string expected;
  for (const auto& [key, set] : sets) expected += key + "\t" + std::to_string(set.size()) + "\n";
  const Given given = {{"column", "2"}, {"key", "1"}};
  const int mappers = *rc::gen::inRange(1, 6);
  const int slots = *rc::gen::inRange(1, 4);
  RC_ASSERT(*RunOn(text, given, mappers, 1, slots) == expected);
  const ScratchFile file(text);
  const auto tree = testing::RunAlongRandomTree(*Program(given),
                                                EvenCut({file.path()}, mappers, 1, slots), 1, seed);
  RC_ASSERT(tree.ok());
  RC_ASSERT(tree->at(0) == expected);
}

TEST(Distinct, LargeSketchesGoAlongTreesToTheSameBytes) {
  std::string text;
  const auto generator = *MakeDefinition()->data()->MakeGenerator({.seed = 3, .skew = 0.9});
  for (int i = 0; i < 40'000; ++i) generator->Append(i, text);
  const Given given = {{"column", "2"}, {"key", "1"}};
  const std::string expected = *RunOn(text, given);
  const ScratchFile file(text);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const int mappers = 1 + static_cast<int>(seed);
    const auto parts = testing::RunAlongRandomTree(*Program(given),
                                                   EvenCut({file.path()}, mappers, 1, 2), 1, seed);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_EQ(parts->at(0), expected);
  }
}

TEST(Distinct, SketchesOutsideOfTheTableCountAgainstTheMemoryOfTheStep) {
  // 150 keys with 2000 values each: registers of 16 KiB a key, 2.4 MB.
  std::string text;
  for (int i = 0; i < 150 * 2000; ++i) {
    text += "k" + std::to_string(i % 150) + "," + std::to_string(i / 150) + "\n";
  }
  const ScratchFile file(text);
  const auto map = [&](std::int64_t memory_bytes) {
    testing::RecordingContext context(1, memory_bytes);
    testing::MemoryRun run;
    return Program({{"key", "1"}, {"column", "2"}})
        ->Map({{file.range()}, {1.0}}, run, context)
        .status();
  };
  EXPECT_EQ(map(16 << 20), absl::OkStatus());
  const absl::Status status = map(2 << 20);
  ASSERT_TRUE(StepErrorOf(status).has_value()) << status;
  EXPECT_EQ(StepErrorOf(status)->code, step_error::kOutOfMemory);
}

}  // namespace
}  // namespace weir::distinct
