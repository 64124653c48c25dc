// Workers that go one after the other, as those of a rack do: one plan, or one edit, is made for
// all.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/master/job/job_machine.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class LostTogetherTest : public MasterTest {
 protected:
  static v1::JobSpec SpecOf(const std::string& input, int maps, int reducers) {
    v1::JobSpec spec = Spec();
    spec.clear_inputs();
    spec.add_inputs(input);
    spec.set_sampling("off");
    spec.set_num_mappers(maps);
    spec.set_num_reducers(reducers);
    return spec;
  }
  /// One after the other, each noticed before the next one goes.
  void KillOneByOne(int begin, int end) {
    for (int w = begin; w < end; ++w) {
      world_->KillWorker("worker-" + std::to_string(w));
      RunFor(2 * limits::kProcessEndSettles);
    }
  }
  void ExpectSuccess(const std::string& id) {
    for (int s = 0; s < 600 && !IsTerminal(StatusOf(id).state()); ++s) RunFor(absl::Seconds(1));
    const v1::JobStatus status = StatusOf(id);
    EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    EXPECT_EQ(world_->wrong(), std::vector<std::string>());
  }
};

TEST_F(LostTogetherTest, ThoseLostWhileAPlanIsMadeCostOnePlanMore) {
  AddWorkers(120);
  RunFor(absl::Seconds(2));
  world_->SlowPlanning(absl::Seconds(20));
  const int before = world_->NumComputeRuns();
  const absl::StatusOr<std::string> id = Submit(SpecOf("/in/data", 4, 1));
  ASSERT_TRUE(id.ok()) << id.status();
  while (world_->NumComputeRuns() == before) RunFor(absl::Milliseconds(1));
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_PLANNING);
  KillOneByOne(0, 110);
  world_->SlowPlanning(absl::Milliseconds(3));
  RunFor(absl::Minutes(1));
  EXPECT_LE(world_->NumComputeRuns() - before, 8);
  ExpectSuccess(*id);
  EXPECT_GT(StatusOf(*id).losses_size(), 0);
}

TEST_F(LostTogetherTest, ThoseLostWhileAPlanIsEditedCostOneEditMore) {
  EXPECT_TRUE(world_->storage().WriteSized("/in/large", 30'000'000'000).ok());
  AddWorkers(24);
  const absl::StatusOr<std::string> id = Submit(SpecOf("/in/large", 48, 6));
  ASSERT_TRUE(id.ok()) << id.status();
  while (StatusOf(*id).state() == v1::JOB_STATE_QUEUED ||
         StatusOf(*id).state() == v1::JOB_STATE_PLANNING) {
    RunFor(absl::Milliseconds(10));
  }
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
  RunFor(absl::Milliseconds(500));
  world_->SlowPlanning(absl::Seconds(20));
  const int before = world_->NumComputeRuns();
  KillOneByOne(0, 1);
  while (world_->NumComputeRuns() == before) RunFor(absl::Milliseconds(10));
  KillOneByOne(1, 19);
  EXPECT_LE(world_->NumComputeRuns() - before, 4);
  world_->SlowPlanning(absl::Milliseconds(3));
  ExpectSuccess(*id);
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.losses_size(), 19);
  for (const v1::WorkerLoss& loss : status.losses()) EXPECT_EQ(loss.plan_epoch(), 1);
}

}  // namespace
}  // namespace weir::master
