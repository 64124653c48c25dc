// From what size on jobs are sampled: by hand, on the policy as it is delivered.

#include "runtime/master/planning/sampling_rule.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace weir::master {
namespace {

constexpr std::int64_t kMega = 1'000'000;

bool IsSampled(const JobRates& rates, const SampledJob& job) {
  return job.input_bytes >= PolicyFor({}, rates, job).input_bytes_min;
}

// 4 ns a byte of input, half of it comes out and takes 10 more: 9 ns a byte of input.
JobRates SlowRates() { return {4e-9, 0.5, {{10e-9, 1.0}}}; }
JobRates FastRates() { return {1e-9, 0.01, {{4e-9, 1.0}}}; }

TEST(SamplingRuleTest, JobsThatTakeLongForFewBytesAreSampledEarly) {
  // 0.15 s are 16.7 MB.
  EXPECT_FALSE(IsSampled(SlowRates(), {16 * kMega}));
  EXPECT_TRUE(IsSampled(SlowRates(), {17 * kMega}));
  EXPECT_FALSE(IsSampled(FastRates(), {67 * kMega}));
  EXPECT_TRUE(IsSampled(FastRates(), {68 * kMega}));  // 64 MiB
  EXPECT_EQ(PolicyFor({}, SlowRates(), {17 * kMega}).fraction_max,
            SamplePolicy().slow_fraction_max);
  EXPECT_EQ(PolicyFor({}, FastRates(), {68 * kMega}).fraction_max, SamplePolicy().fraction_max);
}

TEST(SamplingRuleTest, LaterLayersCountByWhatTheyRead) {
  JobRates rates = FastRates();
  rates.map_output_ratio = 0.5;
  rates.layers = {{4e-9, 0.5}, {20e-9, 1.0}};  // 1 + 2 + 5 ns: 0.15 s are 18.75 MB
  EXPECT_FALSE(IsSampled(rates, {18 * kMega}));
  EXPECT_TRUE(IsSampled(rates, {19 * kMega}));
}

TEST(SamplingRuleTest, NothingIsSlowBelowAMegabyte) {
  JobRates rates = SlowRates();
  rates.map_seconds_per_byte = 1;
  EXPECT_FALSE(IsSampled(rates, {kMega}));
  EXPECT_TRUE(IsSampled(rates, {kMega + kMega / 20}));  // 1 MiB
}

TEST(SamplingRuleTest, OfRatesThatSayHowKeysComeAgainOnlyReadingCounts) {
  // As word count's.
  JobRates rates{3e-9, 0.53, {{16e-9, 0.6}}};
  EXPECT_TRUE(IsSampled(rates, {14 * kMega}));
  rates.output_growth = {1e6, 0.79, 22e-9};
  EXPECT_FALSE(IsSampled(rates, {49 * kMega}));
  EXPECT_TRUE(IsSampled(rates, {50 * kMega}));
}

TEST(SamplingRuleTest, AWrongPlanCostsMoreAcrossHosts) {
  EXPECT_FALSE(IsSampled(FastRates(), {17 * kMega}));
  EXPECT_TRUE(IsSampled(FastRates(), {17 * kMega, /*across_hosts=*/true}));  // 16 MiB
  EXPECT_FALSE(IsSampled(FastRates(), {16 * kMega, /*across_hosts=*/true}));
}

TEST(SamplingRuleTest, CombinersAreSampledInManyPlacesAndOthersReadOneAgain) {
  const SamplePolicy of_keys = PolicyFor({}, FastRates(), {kMega, false, /*combines=*/true});
  EXPECT_EQ(of_keys.places_per_slot, 40);
  EXPECT_EQ(of_keys.places_again, 4);
  const SamplePolicy of_pairs = PolicyFor({}, FastRates(), {kMega});
  EXPECT_EQ(of_pairs.places_per_slot, 4);
  EXPECT_EQ(of_pairs.places_again, 1);
}

}  // namespace
}  // namespace weir::master
