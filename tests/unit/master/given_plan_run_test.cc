// Jobs that run a plan which was given with them, through the master's interfaces, on virtual time.

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class GivenPlanTest : public MasterTest {
 protected:
  GivenPlanTest() { AddWorkers(3); }
  absl::StatusOr<v1::Plan> DryRun(const v1::JobSpec& spec) {
    PlanAnswer plan;
    AskForPlan(spec, plan);
    RunFor(absl::Seconds(1));
    return plan.value_or(absl::UnknownError("no answer"));
  }
  std::string Refusal(const v1::JobSpec& spec) {
    return std::string(Submit(spec).status().message());
  }
};

TEST_F(GivenPlanTest, RunsAsItIsAndStatusesCarryOnlyItsId) {
  v1::JobSpec spec = Spec();
  spec.set_plan_method("even");
  const auto plan = DryRun(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  spec.clear_plan_method();
  *spec.mutable_plan() = *plan;
  EXPECT_EQ(DryRun(spec)->plan_id(), plan->plan_id());
  const auto id = Submit(spec);
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Minutes(1));
  const v1::JobStatus status = StatusOf(*id);
  ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  EXPECT_EQ(status.plan_id(), plan->plan_id());
  EXPECT_EQ(status.spec().plan().plan_id(), plan->plan_id());
  EXPECT_EQ(status.spec().plan().steps_size(), 0);
}

TEST_F(GivenPlanTest, RefusesOneThatDoesNotFitAndSaysWhy) {
  const auto plan = DryRun(Spec());
  ASSERT_TRUE(plan.ok()) << plan.status();
  v1::JobSpec spec = Spec();
  *spec.mutable_plan() = *plan;
  spec.set_num_reducers(2);
  EXPECT_TRUE(absl::StrContains(Refusal(spec), "leave them out beside a given plan"));
  spec = Spec();
  *spec.mutable_plan() = *plan;
  spec.mutable_plan()->mutable_steps(0)->set_worker(7);
  EXPECT_TRUE(absl::StrContains(Refusal(spec), "does not fit")) << Refusal(spec);
  *spec.mutable_plan() = *plan;
  spec.mutable_plan()->set_worker_names(1, plan->worker_names(0));
  EXPECT_TRUE(absl::StrContains(Refusal(spec), "twice")) << Refusal(spec);
  *spec.mutable_plan() = *plan;
  EXPECT_TRUE(world_->storage().WriteSized("/in/more", 5).ok());
  spec.add_inputs("/in/more");
  EXPECT_TRUE(absl::StrContains(Refusal(spec), "1000000005")) << Refusal(spec);
}

TEST_F(GivenPlanTest, FailsWhenItNamesAWorkerThatIsNotAlive) {
  v1::JobSpec spec = Spec();
  const auto plan = DryRun(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  *spec.mutable_plan() = *plan;
  spec.mutable_plan()->set_worker_names(1, "gone");
  const auto id = Submit(spec);
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(30));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_TRUE(absl::StrContains(status.error().message(), "gone")) << status.error().message();
}

}  // namespace
}  // namespace weir::master
