#include "jobs/quantiles/quantiles.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/quantiles/dd_sketch.h"
#include "jobs/quantiles/magnitude_bins.h"
#include "jobs/quantiles/percentiles.h"
#include "jobs/records/random_numbers.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/random_tree.h"

namespace weir::quantiles {
namespace {

using testing::EvenCut;
using testing::ScratchFile;

using Given = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<JobProgram> Program(const Given& given) {
  return testing::ProgramOf(*MakeDefinition(), given);
}

absl::StatusOr<std::string> RunOn(const std::string& text, const Given& given, int mappers = 1,
                                  int slots = 1) {
  return testing::RunOnText(*Program(given), text, mappers, 1, slots);
}

std::string BytesOf(const DdSketch& sketch) {
  std::string bytes;
  sketch.AppendTo(bytes);
  return bytes;
}

// Numbers of all signs; magnitudes from 10^-decades to 10^decades.
double RandomNumber(std::uint64_t seed, std::uint64_t n, double decades) {
  const std::uint64_t random = RandomOf(seed, n, 0);
  const double uniform = static_cast<double>(RandomOf(seed, n, 1) >> 11) * 0x1p-53;
  if (random % 16 == 0) return 0;
  const double magnitude = std::pow(10, (2 * uniform - 1) * decades);
  return random % 4 == 1 ? -magnitude : magnitude;
}

TEST(MagnitudeBins, BinsAreNarrowEnough) {
  for (std::int32_t bin = -35770; bin <= 35839; ++bin) {
    const double value = ValueOfBin(bin);
    ASSERT_EQ(BinOf(value), bin);
    if (bin > -35770) {
      ASSERT_GT(value, ValueOfBin(bin - 1));
    }
  }
  EXPECT_EQ(BinOf(std::numeric_limits<double>::min()), -35770);
  EXPECT_EQ(BinOf(std::numeric_limits<double>::max()), 35839);
  EXPECT_EQ(BinOf(1), 0);
  EXPECT_EQ(BinOf(std::nextafter(1, 0)), -1);
  EXPECT_EQ(BinOf(2), 35);
}

TEST(MagnitudeBins, ValuesStandForTheirBins) {
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const double magnitude = std::abs(RandomNumber(1, i, 300));
    if (magnitude == 0) continue;
    const double value = ValueOfBin(BinOf(magnitude));
    ASSERT_LE(std::abs(value - magnitude), kRelativeAccuracy * magnitude) << magnitude;
  }
  // The ends of all bins of some octaves, found by halving.
  for (std::int32_t bin = -70; bin < 70; ++bin) {
    double below = ValueOfBin(bin);
    double above = ValueOfBin(bin + 1);
    while (std::nextafter(below, above) < above) {
      const double middle = below + (above - below) / 2;
      (BinOf(middle) == bin ? below : above) = middle;
    }
    ASSERT_LE(std::abs(ValueOfBin(bin) - below), kRelativeAccuracy * below) << bin;
    ASSERT_LE(std::abs(ValueOfBin(bin + 1) - above), kRelativeAccuracy * above) << bin;
  }
}

TEST(MagnitudeBins, GrowWithTheMagnitude) {
  double last = std::numeric_limits<double>::min();
  for (std::uint64_t i = 0; last < 1e300; ++i) {
    const double next = last * (1 + 0x1p-12 * static_cast<double>(1 + RandomOf(2, i, 0) % 64));
    ASSERT_LE(BinOf(last), BinOf(next)) << last;
    last = next;
  }
}

TEST(Percentiles, AreReadExactly) {
  const auto good = ParsePercentiles("0,50,99.9,.5,100,100.000000,33.333333");
  ASSERT_TRUE(good.ok()) << good.status();
  const std::int64_t expected[] = {0,           50'000'000,  99'900'000, 500'000,
                                   100'000'000, 100'000'000, 33'333'333};
  ASSERT_EQ(good->size(), std::size(expected));
  for (std::size_t i = 0; i < good->size(); ++i) EXPECT_EQ((*good)[i].millionths, expected[i]);
  for (const char* bad : {"", ",", "50,", "101", "100.000001", "-1", "1e1", "p50", "50 ,90",
                          "0.1234567", "1..2", ".", "99999999999999999999"}) {
    EXPECT_FALSE(ParsePercentiles(bad).ok()) << bad;
  }
  std::string many = "1";
  for (std::size_t i = 1; i < kPercentilesMax; ++i) many += ",1";
  EXPECT_TRUE(ParsePercentiles(many).ok());
  EXPECT_FALSE(ParsePercentiles(many + ",1").ok());
}

TEST(Percentiles, RanksByHand) {
  const auto rank = [](const char* text, std::int64_t count) {
    return RankOf(ParsePercentiles(text)->at(0), count);
  };
  EXPECT_EQ(rank("50", 1), 0);
  EXPECT_EQ(rank("50", 2), 0);
  EXPECT_EQ(rank("50", 3), 1);
  EXPECT_EQ(rank("90", 11), 9);
  EXPECT_EQ(rank("99", 100), 98);
  EXPECT_EQ(rank("99", 101), 99);
  EXPECT_EQ(rank("100", 101), 100);
  EXPECT_EQ(rank("0", 101), 0);
  EXPECT_EQ(rank("100", std::numeric_limits<std::int64_t>::max()),
            std::numeric_limits<std::int64_t>::max() - 1);
}

RC_GTEST_PROP(DdSketchProperty, RanksAreWithinTheAccuracy, ()) {
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 500);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const auto decades = *rc::gen::inRange(0, 8);  // 500 numbers never fill the bins of a sign
  DdSketch sketch;
  std::vector<double> numbers;
  for (std::uint64_t i = 0; i < count; ++i) {
    numbers.push_back(RandomNumber(seed, i, decades));
    sketch.Add(numbers.back());
  }
  std::sort(numbers.begin(), numbers.end());
  RC_ASSERT(sketch.count() == static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double found = sketch.AtRank(static_cast<std::int64_t>(i));
    RC_ASSERT(std::abs(found - numbers[i]) <= kRelativeAccuracy * std::abs(numbers[i]));
  }
  RC_ASSERT(sketch.AtRank(0) >= numbers.front());
  RC_ASSERT(sketch.AtRank(static_cast<std::int64_t>(count) - 1) <= numbers.back());
}

RC_GTEST_PROP(DdSketchProperty, AnyGroupingAndOrderGiveTheSameBytes, ()) {
  // 600 decades have 70 000 bins a sign, so that most sketches collapse.
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 9000);
  const auto num_parts = *rc::gen::inRange<std::size_t>(1, 5);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const double decades = *rc::gen::element(0.5, 9.0, 300.0);
  DdSketch whole;
  std::vector<DdSketch> parts(num_parts);
  for (std::uint64_t i = 0; i < count; ++i) whole.Add(RandomNumber(seed, i, decades));
  for (std::uint64_t i = count; i-- > 0;) {
    parts[RandomOf(seed, i, 2) % num_parts].Add(RandomNumber(seed, i, decades));
  }
  while (parts.size() > 1) {
    const auto into = *rc::gen::inRange<std::size_t>(0, parts.size() - 1);
    parts[into].Merge(parts.back());
    parts.pop_back();
  }
  RC_ASSERT(BytesOf(parts[0]) == BytesOf(whole));
  RC_ASSERT(whole.count() == static_cast<std::int64_t>(count));
  const std::string bytes = BytesOf(whole) + "rest";
  std::string_view in = bytes;
  DdSketch back(5);
  RC_ASSERT(DdSketch::Take(in, back));
  RC_ASSERT(in == "rest");
  RC_ASSERT(BytesOf(back) == BytesOf(whole));
}

TEST(DdSketch, CollapseKeepsTheGreatestMagnitudesOfEachSign) {
  DdSketch sketch;
  constexpr int kBins = 3000;
  for (int bin = 0; bin < kBins; ++bin) {
    sketch.Add(ValueOfBin(bin));
    sketch.Add(-ValueOfBin(bin));
    sketch.Add(0);
  }
  EXPECT_EQ(sketch.count(), 3 * kBins);
  constexpr int kLost = kBins - static_cast<int>(DdSketch::kBinsMax);
  for (int i = 0; i < kBins; ++i) {
    // Of each sign the bins below kLost stand as bin kLost.
    const int negative = std::max(kBins - 1 - i, kLost);
    EXPECT_EQ(sketch.AtRank(i), -ValueOfBin(negative)) << i;
    EXPECT_EQ(sketch.AtRank(kBins + i), 0) << i;
    EXPECT_EQ(sketch.AtRank(2 * kBins + i), ValueOfBin(std::max(i, kLost))) << i;
  }
}

TEST(DdSketch, BytesThatAreNotASketchAreRefused) {
  DdSketch sketch(1);
  sketch.Add(-5);
  sketch.Add(0);
  const std::string good = BytesOf(sketch);
  const auto with = [&good](std::size_t at, auto value) {
    std::string bytes = good;
    std::string one;
    ValueCodec<decltype(value)>::Append(value, one);
    return bytes.replace(at, one.size(), one);
  };
  constexpr std::size_t kFirstBin = 20, kSecondBin = 36;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& bad :
       {std::string(), good.substr(0, 19), good.substr(0, good.size() - 1), with(0, nan),
        with(8, std::numeric_limits<double>::infinity()), with(0, 2.0), with(16, 5000u),
        with(kFirstBin, 5), with(kFirstBin, 1 << 20), with(kSecondBin, 77),
        with(kFirstBin + 8, std::int64_t{0}), with(kFirstBin + 8, std::int64_t{-1}),
        with(kFirstBin + 8, std::numeric_limits<std::int64_t>::max())}) {
    std::string_view in = bad;
    DdSketch back;
    EXPECT_FALSE(DdSketch::Take(in, back)) << bad.size();
  }
}

TEST(Quantiles, ColumnsAndKeysByHand) {
  const std::string text = "name,speed\nann,1\nbob,100\nann,\nann,-3e1\nbob,0\nname,speed\n";
  EXPECT_EQ(*RunOn(text, {{"header", "name,speed"}, {"column", "speed"}, {"percentiles", "0,100"}}),
            "speed\t4\t-30\t100\n");
  EXPECT_EQ(*RunOn(text, {{"header", "name,speed"},
                          {"column", "speed"},
                          {"key", "name"},
                          {"percentiles", "0,50,99.9,100"}}),
            "ann\t2\t-30\t-30\t-30\t1\nbob\t2\t0\t0\t0\t100\n");
  EXPECT_EQ(*RunOn("1,5\n2,6\n", {{"columns", "2"}, {"percentiles", "100"}}), "1\t2\t2\n2\t2\t6\n");
  EXPECT_EQ(*RunOn("", {{"columns", "2"}}), "");
}

TEST(Quantiles, BadRowsAreNamedAndLeftOutWhole) {
  const std::string good = "1,2\n";
  for (const char* number : {"nan", "inf", "1e999", "x", "0x1", "1 ", "--1"}) {
    const auto bad =
        BadRecordOf(RunOn(good + "1," + number + "\n" + good, {{"columns", "2"}}).status());
    ASSERT_TRUE(bad.has_value()) << number;
    EXPECT_EQ(bad->reason, "column 2 is not a finite decimal number");
    EXPECT_EQ(bad->byte_offset, static_cast<std::int64_t>(good.size()));
  }
  const auto ragged = BadRecordOf(RunOn(good + "1\n", {{"columns", "2"}}).status());
  ASSERT_TRUE(ragged.has_value());
  EXPECT_EQ(ragged->reason, "expected 2 fields");
  const ScratchFile file("1,2\n1,x\n,4\n");
  testing::RecordingContext context(1);
  context.skip_bad = 1;
  testing::MemoryRun run;
  ASSERT_TRUE(Program({{"columns", "2"}})->Map({{file.range()}, {1.0}}, run, context).ok());
  EXPECT_EQ(context.counters["numbers"], 3);
  EXPECT_EQ(context.counters["missing_numbers"], 1);
  EXPECT_EQ(context.skipped.size(), 1u);
}

RC_GTEST_PROP(QuantilesProperty, AnyCutAndTreeGiveTheSameLines, ()) {
  const auto rows = *rc::gen::inRange(0, 3000);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  std::string text;
  const auto generator = *MakeDefinition()->data()->MakeGenerator({.seed = seed, .skew = 0.5});
  for (int i = 0; i < rows; ++i) generator->Append(i, text);
  const Given given = {{"column", "2"}, {"key", "1"}};
  const std::string expected = *RunOn(text, given);
  const int mappers = *rc::gen::inRange(1, 6);
  const int slots = *rc::gen::inRange(1, 4);
  RC_ASSERT(*RunOn(text, given, mappers, slots) == expected);
  const ScratchFile file(text);
  const auto tree = testing::RunAlongRandomTree(*Program(given),
                                                EvenCut({file.path()}, mappers, 1, slots), 1, seed);
  RC_ASSERT(tree.ok());
  RC_ASSERT(tree->at(0) == expected);
}

TEST(Quantiles, ItsTableMayBeCombinedInAnyOrder) {
  const auto definition = MakeDefinition();
  for (const Given& given : {Given{{"columns", "2"}}, Given{{"column", "1"}, {"key", "2"}}}) {
    const auto values = CheckParameters(definition->info(), given);
    const ElementInfo element = definition->Element(*values, 1);
    EXPECT_EQ(element.kind, ElementKind::kTable);
    EXPECT_TRUE(element.commutative);
  }
}

}  // namespace
}  // namespace weir::quantiles
