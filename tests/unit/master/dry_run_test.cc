// What the master does not do on its control loop, and what dry runs hear of workers: the whole
// master on virtual time.

#include <deque>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/base/limits.h"
#include "runtime/master/master.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class DryRunTest : public MasterTest {
 protected:
  DryRunTest() { AddWorkers(3); }
  static sim::WorkerModel Worker(int w) {
    sim::WorkerModel model;
    model.name = "worker-" + std::to_string(w);
    return model;
  }
  // Answered later; look at plan_.
  void BeginDryRun(const v1::JobSpec& spec) {
    plan_.reset();
    AskForPlan(spec, plan_);
  }
  // A job that brings the plan which the master would make.
  v1::JobSpec GivenPlan() {
    v1::JobSpec spec = Spec();
    spec.set_sampling("off");
    BeginDryRun(spec);
    RunFor(absl::Seconds(1));
    EXPECT_TRUE(plan_ && plan_->ok());
    *spec.mutable_plan() = **plan_;
    return spec;
  }

  PlanAnswer plan_;
};

TEST_F(DryRunTest, AGivenPlanIsCheckedAndExplainedOnTheComputePool) {
  const v1::JobSpec spec = GivenPlan();
  const int before = world_->NumComputeRuns();
  BeginDryRun(spec);
  RunFor(absl::Seconds(1));
  ASSERT_TRUE(plan_ && plan_->ok()) << (plan_ ? plan_->status() : absl::OkStatus());
  EXPECT_EQ((*plan_)->plan_id(), spec.plan().plan_id());
  EXPECT_EQ(world_->NumComputeRuns() - before, 2) << "once to check it, once to explain it";
}

TEST_F(DryRunTest, AGivenPlanThatDoesNotHoldIsRefusedFromTheComputePool) {
  v1::JobSpec spec = GivenPlan();
  spec.mutable_plan()->mutable_steps(0)->set_worker(7);
  const int before = world_->NumComputeRuns();
  std::optional<absl::Status> refused;
  v1::SubmitRequest request;
  *request.mutable_spec() = spec;
  world_->master().jobs().Send<rpc::Submit>(
      request, [&refused](const auto& response) { refused = response.status(); });
  EXPECT_FALSE(refused) << "the loop has not checked it";
  RunFor(absl::Seconds(1));
  ASSERT_TRUE(refused);
  EXPECT_TRUE(absl::StrContains(refused->message(), "does not fit")) << *refused;
  EXPECT_EQ(world_->NumComputeRuns() - before, 1);
}

TEST_F(DryRunTest, HearsThatAWorkerOfItsSampleRegisteredAgain) {
  BeginDryRun(Spec());
  RunFor(absl::Milliseconds(20));
  ASSERT_FALSE(plan_) << "the sample is under way";
  // Back before its silence is noticed: nothing but the new registration tells that it restarted.
  world_->KillWorker("worker-1");
  world_->StartWorker(Worker(1));
  RunFor(absl::Seconds(2));
  ASSERT_TRUE(plan_) << "waits for a report that never comes, until the sample's budget is over";
  ASSERT_TRUE(plan_->ok()) << plan_->status();
  EXPECT_TRUE(absl::StrContains((*plan_)->DebugString(), "registered again"))
      << (*plan_)->DebugString().substr(0, 4000);
}

constexpr char kNotSampled[] = "Not sampled, because a dry run that samples runs";

TEST_F(DryRunTest, OfTwoAtOnceOneSamplesAndTheOtherSaysWhyNot) {
  PlanAnswer plans[2];
  for (PlanAnswer& plan : plans) AskForPlan(Spec(), plan);
  RunFor(absl::Seconds(30));
  int num_not_sampled = 0;
  for (const auto& plan : plans) {
    ASSERT_TRUE(plan && plan->ok()) << (plan ? plan->status() : absl::OkStatus());
    if (absl::StrContains((*plan)->DebugString(), kNotSampled)) ++num_not_sampled;
  }
  EXPECT_EQ(num_not_sampled, 1);
  BeginDryRun(Spec());
  RunFor(absl::Seconds(30));
  ASSERT_TRUE(plan_ && plan_->ok());
  EXPECT_FALSE(absl::StrContains((*plan_)->DebugString(), kNotSampled)) << "both are over";
}

TEST_F(DryRunTest, AJobThatBeginsMeanwhileIsNotSampledAndSaysWhy) {
  BeginDryRun(Spec());
  RunFor(absl::Milliseconds(10));
  ASSERT_FALSE(plan_) << "the sample is under way";
  const absl::StatusOr<std::string> job = Submit(Spec());
  ASSERT_TRUE(job.ok()) << job.status();
  RunFor(absl::Seconds(2));
  const v1::JobStatus status = StatusOf(*job);
  EXPECT_TRUE(absl::StrContains(status.plan_text(), kNotSampled)) << status.plan_text();
}

TEST_F(DryRunTest, OneTooManyAtATimeIsRefused) {
  std::deque<std::optional<absl::Status>> answers;
  const auto begin = [&] {
    v1::DryRunRequest request;
    *request.mutable_spec() = Spec();
    request.mutable_spec()->set_sampling("off");
    std::optional<absl::Status>& answer = answers.emplace_back();
    world_->master().jobs().Send<rpc::DryRun>(
        request, [&answer](const auto& response) { answer = response.status(); });
    RunFor(absl::Milliseconds(1));
  };
  world_->list_pool().Hold();
  for (int i = 0; i < limits::kDryRunsMax; ++i) begin();
  for (const auto& answer : answers) EXPECT_FALSE(answer) << *answer;
  begin();
  ASSERT_TRUE(answers.back());
  EXPECT_TRUE(absl::IsResourceExhausted(*answers.back())) << *answers.back();
  answers.pop_back();
  world_->list_pool().GoOn();
  RunFor(absl::Seconds(30));
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->ok()) << *answer;
  }
  begin();
  RunFor(absl::Seconds(5));
  ASSERT_TRUE(answers.back());
  EXPECT_TRUE(answers.back()->ok()) << *answers.back();
}

}  // namespace
}  // namespace weir::master
