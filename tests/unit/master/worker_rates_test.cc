// How fast workers are that differ: what plans that were made anew do not tell, and edits know. The
// whole master on virtual time.

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/job/job_machine.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr int kMaps = 24;

class WorkerRatesTest : public MasterTest {
 protected:
  /// Nobody has measured them: the rate of each is its slots.
  void StartWorkers(int slow_slots, int fast_slots, int lost_slots) {
    sim::WorkerModel model;
    // A network that is slow enough for most of a job to come after its maps.
    model.channel_seconds_per_byte = 1e-7;
    model.map_output_ratio = 0.5;
    model.name = "slow";
    model.slots = slow_slots;
    world_->StartWorker(model);
    model.name = "fast";
    model.slots = fast_slots;
    world_->StartWorker(model);
    model.name = "lost";
    model.slots = lost_slots;
    world_->StartWorker(model);
    RunFor(absl::Seconds(1));
  }
  std::string RunUntilMapsCommitted(int maps) {
    v1::JobSpec spec = Spec();
    spec.set_sampling("off");
    spec.set_num_mappers(kMaps);
    spec.set_num_reducers(3);
    const absl::StatusOr<std::string> id = Submit(spec);
    EXPECT_TRUE(id.ok()) << id.status();
    for (int i = 0; i < 60'000 && Commits().size() < static_cast<std::size_t>(maps); ++i) {
      RunFor(absl::Milliseconds(1));
    }
    EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
    return *id;
  }
  /// Returns once the plan is edited without it.
  void LoseOne() {
    world_->KillWorker("lost");
    for (int i = 0; i < 5'000 && LastPlan().plan_edit() == 0; ++i) RunFor(absl::Milliseconds(1));
    ASSERT_EQ(LastPlan().plan_edit(), 1);
  }
  /// Returns once the next one goes on with the plan.
  void RestartMaster() {
    world_->RestartMaster(absl::Milliseconds(500));
    for (int i = 0; i < 20'000 && !LastPlan().resumed(); ++i) RunFor(absl::Milliseconds(1));
    ASSERT_TRUE(LastPlan().resumed());
  }
  /// Of the last plan in the journal, by name.
  std::map<std::string, double> RatesTold() {
    const v1::Plan& plan = LastPlan().plan();
    std::map<std::string, double> rates;
    for (int w = 0; w < plan.compute_rate_size(); ++w) {
      rates[plan.worker_names(w)] = plan.compute_rate(w);
    }
    return rates;
  }
  /// Of the maps of the last plan, by name: those that `before` does not have there.
  std::map<std::string, double> SecondsPerByteOfNewMaps(const v1::Plan& before) {
    std::map<std::string, double> seconds_per_byte;
    const v1::Plan& plan = LastPlan().plan();
    for (int s = 0; s < plan.steps_size(); ++s) {
      const v1::ComputeStep& step = plan.steps(s);
      if (step.kind() != v1::STEP_KIND_MAP) continue;
      if (s < before.steps_size() && before.steps(s).worker() == step.worker()) continue;
      seconds_per_byte[plan.worker_names(step.worker())] =
          step.duration_s() / static_cast<double>(step.input_bytes());
    }
    return seconds_per_byte;
  }
  /// A byte of what was the lost one's takes "slow" so many times as long as "fast".
  void ExpectTakenByBoth(const v1::Plan& before, double times) {
    std::map<std::string, double> taken = SecondsPerByteOfNewMaps(before);
    ASSERT_EQ(taken.size(), 2u);
    EXPECT_NEAR(taken["slow"] / taken["fast"], times, 0.02);
  }
  void ExpectSuccess(const std::string& id) {
    for (int s = 0; s < 600 && !IsTerminal(StatusOf(id).state()); ++s) RunFor(absl::Seconds(1));
    const v1::JobStatus status = StatusOf(id);
    ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    EXPECT_EQ(world_->wrong(), std::vector<std::string>());
  }
};

TEST_F(WorkerRatesTest, APlanThatWasMadeAnewDoesNotTellThemAndItsEditDoes) {
  StartWorkers(1, 2, 4);
  const std::string id = RunUntilMapsCommitted(kMaps / 4);
  const v1::Plan before = LastPlan().plan();
  EXPECT_EQ(before.compute_rate_size(), 0);
  LoseOne();
  EXPECT_THAT(RatesTold(), ElementsAre(Pair("fast", 2), Pair("lost", 4), Pair("slow", 1)));
  ExpectTakenByBoth(before, 2);
  ExpectSuccess(id);
}

TEST_F(WorkerRatesTest, ALaterMasterTakesThoseOfAnEditFromTheJournal) {
  StartWorkers(1, 2, 4);
  const std::string id = RunUntilMapsCommitted(kMaps / 4);
  LoseOne();
  RestartMaster();
  EXPECT_THAT(RatesTold(), ElementsAre(Pair("fast", 2), Pair("lost", 4), Pair("slow", 1)))
      << "though nobody there knows the lost one";
  ExpectSuccess(id);
}

TEST_F(WorkerRatesTest, ALaterMasterTakesThemFromProfilesWhereThePlanWasNotEdited) {
  StartWorkers(2, 3, 2);
  const std::string id = RunUntilMapsCommitted(kMaps / 4);
  const v1::Plan before = LastPlan().plan();
  EXPECT_EQ(before.compute_rate_size(), 0);
  world_->KillWorker("lost");
  RestartMaster();
  EXPECT_EQ(LastPlan().plan_edit(), 0);
  std::map<std::string, double> rates = RatesTold();
  ASSERT_EQ(rates.size(), 3u);
  EXPECT_EQ(rates["slow"], 2);
  EXPECT_EQ(rates["fast"], 3);
  ExpectTakenByBoth(before, 1.5);
  ExpectSuccess(id);
}

TEST_F(WorkerRatesTest, OneThatALaterMasterDoesNotKnowCountsAsTheOthersDo) {
  StartWorkers(4, 4, 4);
  const std::string id = RunUntilMapsCommitted(kMaps / 4);
  const v1::Plan before = LastPlan().plan();
  world_->KillWorker("lost");
  RestartMaster();
  EXPECT_THAT(RatesTold(), ElementsAre(Pair("fast", 4), Pair("lost", 4), Pair("slow", 4)));
  // What was to run there takes the others as long as it was to take.
  const v1::ComputeStep& any = before.steps(0);
  const double seconds_per_byte = any.duration_s() / static_cast<double>(any.input_bytes());
  for (const auto& [name, taken] : SecondsPerByteOfNewMaps(before)) {
    EXPECT_NEAR(taken / seconds_per_byte, 1, 0.02) << name;
  }
  ExpectSuccess(id);
}

}  // namespace
}  // namespace weir::master
