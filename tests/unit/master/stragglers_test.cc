// A worker that is slower than its plan says loses work to the others, and only then.

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class StragglersTest : public MasterTest {
 protected:
  StragglersTest() { AddWorkers(4); }

  /// Runs a job during which worker-2 computes so many times slower than the others.
  v1::JobStatus RunWith(double slowness) {
    world_->FindWorker("worker-2")->faults().cpu_slowness = slowness;
    const absl::StatusOr<std::string> id = Submit(Spec());
    EXPECT_TRUE(id.ok()) << id.status();
    RunFor(absl::Seconds(240));
    v1::JobStatus status = StatusOf(*id);
    EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    return status;
  }
};

TEST_F(StragglersTest, WhoIsAsFastAsPlannedKeepsItsWork) {
  const v1::JobStatus status = RunWith(1);
  EXPECT_FALSE(absl::StrContains(status.plan_text(), "Edited while it ran")) << status.plan_text();
}

TEST_F(StragglersTest, TheOthersTakeOverFromOneAtATenth) {
  const v1::JobStatus status = RunWith(10);
  EXPECT_TRUE(absl::StrContains(status.plan_text(), "Edited while it ran")) << status.plan_text();
  EXPECT_EQ(status.losses_size(), 0);
  EXPECT_EQ(status.counters(0).value(), 1'000'000'000) << "what is done again counts once";
  // The predicted end of the first plan is some 2.5 s; the slow one alone would take ten times
  // that.
  EXPECT_LT(status.actual_makespan_s(), 8);
  EXPECT_TRUE(world_->FindWorker("worker-2")->HeldJobs().empty());
}

}  // namespace
}  // namespace weir::master
