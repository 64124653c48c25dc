#include "jobs/histogram/histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/histogram/equal_bins.h"
#include "jobs/records/random_numbers.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/random_tree.h"

namespace weir::histogram {
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

TEST(EqualBins, ByHand) {
  const EqualBins bins = *EqualBins::Of(-1, 3, 4);
  EXPECT_EQ(bins.BinOf(-1.0001), -1);
  EXPECT_EQ(bins.BinOf(-1), 0);
  EXPECT_EQ(bins.BinOf(std::nextafter(0, -1)), 0);
  EXPECT_EQ(bins.BinOf(0), 1);
  EXPECT_EQ(bins.BinOf(2), 3);
  EXPECT_EQ(bins.BinOf(3), 3);  // max itself
  EXPECT_EQ(bins.BinOf(std::nextafter(3, 4)), 4);
  EXPECT_EQ(bins.BinOf(1e300), 4);
}

TEST(EqualBins, EdgesBelongToTheBinThatTheyBegin) {
  for (const auto& [min, max, count] :
       {std::tuple(0.0, 1.0, 10), std::tuple(-0.3, 0.7, 1000), std::tuple(1e6, 1e6 + 1, 77),
        std::tuple(-1e300, 1e300, 3)}) {
    const EqualBins bins = *EqualBins::Of(min, max, count);
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_LT(bins.Edge(i), bins.Edge(i + 1));
      ASSERT_EQ(bins.BinOf(bins.Edge(i)), i);
      if (i > 0) {
        ASSERT_EQ(bins.BinOf(std::nextafter(bins.Edge(i), min)), i - 1);
      }
    }
    EXPECT_EQ(bins.Edge(count), max);
  }
}

TEST(EqualBins, RangesThatHoldNoBinsAreRefused) {
  EXPECT_FALSE(EqualBins::Of(1, 1, 1).ok());
  EXPECT_FALSE(EqualBins::Of(2, 1, 1).ok());
  EXPECT_FALSE(EqualBins::Of(-1e308, 1e308, 10).ok());
  EXPECT_FALSE(EqualBins::Of(1, std::nextafter(1, 2), 2).ok());
  EXPECT_FALSE(EqualBins::Of(0, 1e-307, 1000).ok());
  EXPECT_TRUE(EqualBins::Of(0, 1, kBinsMax).ok());
}

TEST(Histogram, ByHand) {
  const std::string text = "id,x\n1,0.5\n2,-3\n3,1\n4,2\n5,2.5\n6,\n7,1.5\nid,x\n";
  const Given given = {{"header", "id,x"}, {"column", "x"}, {"max", "2"}, {"bins", "2"}};
  const std::string expected = "-inf\t0\t1\n0\t1\t1\n1\t2\t3\n2\tinf\t1\n";
  EXPECT_EQ(*RunOn(text, given), expected);
  EXPECT_EQ(*RunOn(text, given, 3, 3, 2), expected);
}

TEST(Histogram, EmptyInputCountsNothing) {
  const std::string expected = "-inf\t0\t0\n0\t0.5\t0\n0.5\t1\t0\n1\tinf\t0\n";
  EXPECT_EQ(*RunOn("", {{"bins", "2"}}), expected);
  EXPECT_EQ(*RunOn("\n\n", {{"bins", "2"}}), expected);
}

TEST(Histogram, BadRowsAreNamedAndCounted) {
  for (const char* number : {"nan", "inf", "-inf", "1e999", "x", "1 "}) {
    const auto bad = BadRecordOf(RunOn("1\n" + std::string(number) + "\n", {}).status());
    ASSERT_TRUE(bad.has_value()) << number;
    EXPECT_EQ(bad->reason, "column 1 is not a finite decimal number");
    EXPECT_EQ(bad->byte_offset, 2);
  }
  const auto ragged = BadRecordOf(RunOn("1,2\n1\n", {{"column", "2"}}).status());
  ASSERT_TRUE(ragged.has_value());
  EXPECT_EQ(ragged->reason, "expected at least 2 fields");
  const ScratchFile file("1\n\nx\n0.5\n");
  testing::RecordingContext context(1);
  context.skip_bad = 1;
  testing::MemoryRun run;
  ASSERT_TRUE(Program({})->Map({{file.range()}, {1.0}}, run, context).ok());
  EXPECT_EQ(context.counters["numbers"], 2);
  EXPECT_EQ(context.counters["missing_numbers"], 1);
  EXPECT_EQ(context.skipped.size(), 1u);
}

TEST(Histogram, WrongParametersAreNamed) {
  const auto definition = MakeDefinition();
  const std::pair<Given, const char*> wrong[] = {
      {{{"min", "one"}}, "parameter 'min' is 'one'"},
      {{{"max", "nan"}}, "parameter 'max' is 'nan'"},
      {{{"min", "1"}}, "'max' must be greater"},
      {{{"min", "1"}, {"max", "1.000000000000001"}}, "narrower than double"},
      {{{"column", "0"}}, "parameter 'column' is '0'"},
      {{{"column", ""}}, "parameter 'column' is ''"}};
  for (const auto& [given, words] : wrong) {
    const auto values = CheckParameters(definition->info(), given);
    ASSERT_TRUE(values.ok()) << values.status();
    const absl::Status status = definition->CheckValues(*values);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
  }
  EXPECT_FALSE(CheckParameters(definition->info(), {{"bins", "0"}}).ok());
}

TEST(Histogram, ItsVectorSplitsAndMayBeCombinedInAnyOrder) {
  const auto definition = MakeDefinition();
  const auto values = CheckParameters(definition->info(), {{"bins", "40"}});
  const ElementInfo element = definition->Element(*values, 1);
  EXPECT_EQ(element.kind, ElementKind::kVector);
  EXPECT_EQ(element.places, 42);
  EXPECT_EQ(element.place_bytes, 8);
  EXPECT_TRUE(element.commutative);
  EXPECT_TRUE(element.splits);
}

TEST(Histogram, PresentShowsTheFirstBins) {
  const ScratchFile one("2\tinf\t0\n-inf\t-10\t1\n"), two("-10\t-9\t5\n0.5\t2\t3\n");
  const auto definition = MakeDefinition();
  const auto values = CheckParameters(definition->info(), {{"show", "3"}});
  std::ostringstream out;
  ASSERT_TRUE(definition->Present({one.path(), two.path()}, *values, out).ok());
  EXPECT_EQ(out.str(), "-inf\t-10\t1\n-10\t-9\t5\n0.5\t2\t3\n");
}

RC_GTEST_PROP(HistogramProperty, AnyCutAndTreeCountAlike, ()) {
  const auto rows = *rc::gen::inRange(0, 500);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const auto num_bins = *rc::gen::inRange<std::int64_t>(1, 50);
  const EqualBins bins = *EqualBins::Of(100, 900, num_bins);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(num_bins + 2));
  std::string text;
  const auto generator = *MakeDefinition()->data()->MakeGenerator({.seed = seed, .skew = 0.2});
  for (int i = 0; i < rows; ++i) {
    std::string row;
    generator->Append(i, row);
    const double number = std::stod(row);
    // By looking at all edges.
    std::size_t place = 0;
    while (place <= static_cast<std::size_t>(num_bins) &&
           number >= bins.Edge(static_cast<std::int64_t>(place))) {
      ++place;
    }
    if (number == 900) place = static_cast<std::size_t>(num_bins);
    ++counts[place];
    text += row;
  }
  const Given given = {{"min", "100"}, {"max", "900"}, {"bins", std::to_string(num_bins)}};
  const int mappers = *rc::gen::inRange(1, 5);
  const int slots = *rc::gen::inRange(1, 4);
  const std::string all = *RunOn(text, given, mappers, *rc::gen::inRange(1, 4), slots);
  std::vector<std::int64_t> found;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    found.push_back(std::stoll(line.substr(line.rfind('\t') + 1)));
  }
  RC_ASSERT(found == counts);
  const ScratchFile file(text);
  const auto tree = testing::RunAlongRandomTree(*Program(given),
                                                EvenCut({file.path()}, mappers, 1, slots), 1, seed);
  RC_ASSERT(tree.ok());
  RC_ASSERT(tree->at(0) == all);
}

}  // namespace
}  // namespace weir::histogram
