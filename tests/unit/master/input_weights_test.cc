// Input of which some bytes cost more than others to map: of whose data that is known, and how the
// progress of such a job counts. The whole master on virtual time.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/input/input_expansion.h"
#include "runtime/master/learning/data_seen.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kInputBytes = 10'000'000'000;
constexpr double kBytesPerSecond = 2.5e8;

/// What a run of the job taught: a byte of the first half costs three times one of the second.
v1::JobShapeLearned Known() {
  v1::JobShapeLearned known;
  known.set_job("simjob");
  known.set_input_bytes(kInputBytes);
  known.set_num_workers(2);
  known.set_runs(1);
  known.set_map_seconds_per_byte(1 / kBytesPerSecond);
  known.set_map_output_ratio(0.05);
  known.add_input_weights(1.5);
  known.add_input_weights(0.5);
  known.mutable_seen()->set_records_per_byte(0.1);
  known.mutable_seen()->set_output_ratio(0.05);
  known.mutable_seen()->set_at_bytes(1'000'000);
  return known;
}

class InputWeightsTest : public MasterTest {
 protected:
  /// A master that knows this of the job's data, or of other data, and two workers.
  void Start(bool of_this_data) {
    MasterOptions options;
    options.latency_s = 4e-4;
    world_.emplace(7, options, JobRates(), /*print=*/false);
    ASSERT_TRUE(world_->storage().WriteSized("/in/data", kInputBytes).ok());
    const absl::StatusOr<InputList> input = ExpandInputs(world_->storage(), {"/in/data"});
    ASSERT_TRUE(input.ok()) << input.status();
    v1::JournalRecord record;
    *record.mutable_job_shape_learned() = Known();
    record.mutable_job_shape_learned()->set_input_fingerprint(InputRanges(*input).Fingerprint() +
                                                              (of_this_data ? 0 : 1));
    ASSERT_TRUE(world_->journal().Append({record}).ok());
    world_->StartMaster();
    AddWorkers(2);
  }
  /// Returns the id of a job that maps; its plan is the last one.
  std::string Begin() {
    v1::JobSpec spec = Spec();
    spec.set_sampling("off");
    spec.set_plan_method("even");
    spec.set_num_mappers(2);
    const absl::StatusOr<std::string> id = Submit(spec);
    EXPECT_TRUE(id.ok()) << id.status();
    for (int ms = 0; ms < 10'000 && begun_.size() < 2; ms += 10) RunFor(absl::Milliseconds(10));
    EXPECT_EQ(begun_.size(), 2u) << DescribeJobError(StatusOf(id.value_or("")).error());
    return id.value_or("");
  }
  void WatchMaps() {
    world_->WatchSteps([this](const std::string& worker, const v1::StepOrder& order) {
      if (order.kind() == v1::STEP_KIND_MAP) begun_.emplace(worker, world_->time().now());
    });
  }
  std::map<std::string, MonoTime> begun_;  // by worker
};

TEST_F(InputWeightsTest, ProgressCountsBytesAsThePlanDoes) {
  Start(/*of_this_data=*/true);
  WatchMaps();
  const std::string id = Begin();
  ASSERT_THAT(LastPlan().plan().input_part_ends(), ElementsAre(7'500'000'000, kInputBytes));
  // One maps the first third of the input, the other the rest: both read dear bytes for 6.6 s.
  RunFor(absl::Seconds(6));
  double read = 0;
  for (const auto& [worker, began] : begun_) {
    read += absl::ToDoubleSeconds(world_->time().now() - began) * kBytesPerSecond;
  }
  // What is heard of them is up to two heartbeats late, of six seconds.
  const auto done = static_cast<double>(StatusOf(id).progress().input_bytes_done());
  EXPECT_GT(done, read) << "a dear byte counts for one and a half";
  EXPECT_LE(done, 1.5 * read + 2);
}

TEST_F(InputWeightsTest, ThoseOfOtherDataSayNothingOfThis) {
  Start(/*of_this_data=*/false);
  WatchMaps();
  Begin();
  EXPECT_THAT(LastPlan().plan().input_part_ends(), IsEmpty());
}

TEST(KnownOfDataAlikeTest, HasTheWeightsOfTheSample) {
  v1::JobShapeLearned sample = Known();
  sample.set_map_seconds_per_byte(1);
  sample.set_input_weights(0, 0.8);
  sample.set_input_weights(1, 1.2);
  const auto taken = KnownOfDataAlike(Known(), sample, kInputBytes / 2.0, kInputBytes);
  ASSERT_TRUE(taken.has_value());
  EXPECT_THAT(taken->input_weights(), ElementsAre(0.8, 1.2));
  EXPECT_EQ(taken->map_seconds_per_byte(), 1 / kBytesPerSecond) << "of longer runs";
  sample.clear_input_weights();
  const auto even = KnownOfDataAlike(Known(), sample, kInputBytes / 2.0, kInputBytes);
  ASSERT_TRUE(even.has_value());
  EXPECT_THAT(even->input_weights(), IsEmpty()) << "here no part is dear";
}

TEST(KnownOfDataAlikeTest, IsTheFirstOfSeveralThatIsAlike) {
  std::vector<v1::JobShapeLearned> known(4, Known());
  known[0].clear_seen();
  known[1].mutable_seen()->set_output_ratio(0.5);
  for (int i = 0; i < 4; ++i) known[static_cast<std::size_t>(i)].set_runs(i);
  const auto taken = FirstOfDataAlike(known, Known(), kInputBytes / 2.0, kInputBytes);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->runs(), 2);
  known.resize(2);
  EXPECT_FALSE(FirstOfDataAlike(known, Known(), kInputBytes / 2.0, kInputBytes).has_value());
}

TEST(KnownOfDataAlikeTest, IsNothingWhereTheSampleIsOfOtherData) {
  v1::JobShapeLearned sample = Known();
  sample.mutable_seen()->set_records_per_byte(0.3);
  EXPECT_FALSE(KnownOfDataAlike(Known(), sample, kInputBytes / 2.0, kInputBytes).has_value());
  sample = Known();
  sample.set_map_output_ratio(0.1);
  EXPECT_FALSE(KnownOfDataAlike(Known(), sample, kInputBytes / 2.0, kInputBytes).has_value());
  sample = Known();
  sample.clear_seen();
  EXPECT_FALSE(KnownOfDataAlike(Known(), sample, kInputBytes / 2.0, kInputBytes).has_value());
}

}  // namespace
}  // namespace weir::master
