// Jobs that run when their master ends, or when workers are killed and started again, and what of
// them is done again: the whole master on virtual time.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/master/job/job_machine.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

using testing::IsEmpty;
using testing::Not;

constexpr int kMaps = 12;

class ResumedJobsTest : public MasterTest {
 protected:
  ResumedJobsTest() {
    // Slow enough a network that most of the job comes after its maps.
    sim::WorkerModel model;
    model.channel_seconds_per_byte = 1e-7;
    model.map_output_ratio = 0.5;
    for (int w = 0; w < 3; ++w) {
      model.name = "worker-" + std::to_string(w);
      world_->StartWorker(model);
    }
    RunFor(absl::Seconds(1));
    world_->WatchSteps([this](const std::string& worker, const v1::StepOrder& order) {
      if (order.kind() != v1::STEP_KIND_MAP) return;
      ++maps_begun_;
      begun_on_[worker] += 1;
    });
  }
  std::string SubmitMaps() {
    v1::JobSpec spec = Spec();
    spec.set_num_mappers(kMaps);
    spec.set_sampling("off");
    spec.set_num_reducers(3);
    const absl::StatusOr<std::string> id = Submit(spec);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  int MapsDone() {
    return static_cast<int>(std::count_if(
        world_->journal().records().begin(), world_->journal().records().end(),
        [](const v1::JournalRecord& record) {
          return record.has_step_committed() && record.step_committed().result().has_run();
        }));
  }
  void RunUntilMapsDone(int maps) {
    for (int i = 0; i < 60'000 && MapsDone() < maps; ++i) RunFor(absl::Milliseconds(10));
    ASSERT_GE(MapsDone(), maps);
  }
  void RestartAndForget(absl::Duration pause) {
    world_->RestartMaster(pause);
    Forget();
    RunFor(pause + absl::Milliseconds(100));
  }
  /// Killed, and started again `pause` later.
  void RestartWorker(const std::string& name, absl::Duration pause) {
    const sim::WorkerModel model = world_->FindWorker(name)->model();
    world_->KillWorker(name);
    RunFor(pause);
    world_->StartWorker(model);
  }
  void Forget() {
    maps_begun_ = 0;
    begun_on_.clear();
  }
  /// Runs it to its end, and looks at every byte of its result.
  void ExpectRightResult(const std::string& id) {
    for (int s = 0; s < 600 && !IsTerminal(StatusOf(id).state()); ++s) RunFor(absl::Seconds(1));
    const v1::JobStatus status = StatusOf(id);
    ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    ASSERT_EQ(status.counters_size(), 1);
    EXPECT_EQ(status.counters(0).value(), 1'000'000'000) << "each byte was counted once";
    double end = 0;
    for (const sim::ContentPiece& piece : world_->contents().ResultOf(id)) {
      EXPECT_EQ(piece.begin, end);
      end = piece.end;
      EXPECT_EQ(piece.input, (std::vector<sim::InputPiece>{{"/in/data", 0, 1'000'000'000}}));
    }
    EXPECT_EQ(end, 1);
    RunFor(absl::Seconds(2));
    for (const auto& [name, worker] : world_->workers()) {
      if (!worker->loop()->alive()) continue;
      EXPECT_THAT(worker->HeldJobs(), IsEmpty()) << name;
    }
    EXPECT_EQ(world_->wrong(), std::vector<std::string>());
  }

  int maps_begun_ = 0;
  std::map<std::string, int> begun_on_;
};

TEST_F(ResumedJobsTest, NoMapIsDoneAgainWhereAllAreDoneAndAllWorkersAreBack) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  EXPECT_EQ(maps_begun_, kMaps);
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING);
  RestartAndForget(absl::Milliseconds(500));
  RunFor(absl::Seconds(10));
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING) << "within 10 s";
  EXPECT_TRUE(LastPlan().resumed());
  EXPECT_EQ(LastPlan().plan_epoch(), 2);
  EXPECT_TRUE(absl::StrContains(StatusOf(id).plan_text(), "after a restart of the master"))
      << StatusOf(id).plan_text();
  ExpectRightResult(id);
  EXPECT_EQ(maps_begun_, 0);
}

TEST_F(ResumedJobsTest, OnlyWhatWasNotDoneIsDone) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps / 2);
  RestartAndForget(absl::Milliseconds(500));
  ExpectRightResult(id);
  EXPECT_LE(maps_begun_, kMaps / 2);
  EXPECT_GT(maps_begun_, 0);
}

TEST_F(ResumedJobsTest, AMasterMayBeAwayForLongerThanALease) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  RestartAndForget(2 * limits::kWorkerLease);
  ExpectRightResult(id);
  EXPECT_EQ(maps_begun_, 0);
}

TEST_F(ResumedJobsTest, SoItIsWithOneThatIsShutDown) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  maps_begun_ = 0;
  // Heartbeats meet it while it stops.
  world_->master().Shutdown([] {});
  RunFor(absl::Seconds(1));
  RestartAndForget(absl::Milliseconds(100));
  ExpectRightResult(id);
  EXPECT_EQ(maps_begun_, 0);
}

TEST_F(ResumedJobsTest, AndOverSeveralMasters) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps / 2);
  RestartAndForget(absl::Milliseconds(500));
  RunFor(absl::Seconds(8));
  RunUntilMapsDone(kMaps);
  RestartAndForget(absl::Milliseconds(500));
  ExpectRightResult(id);
  EXPECT_EQ(maps_begun_, 0);
  EXPECT_EQ(LastPlan().plan_epoch(), 3);
}

TEST_F(ResumedJobsTest, AWorkerThatDoesNotComeBackCostsItsOwnMaps) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  const int its_own = begun_on_["worker-2"];
  ASSERT_GT(its_own, 0);
  world_->KillWorker("worker-2");
  RestartAndForget(absl::Milliseconds(10));
  ExpectRightResult(id);
  const v1::JobStatus status = StatusOf(id);
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).worker(), "worker-2");
  EXPECT_TRUE(LastPlan().resumed());
  // In parts, perhaps; no bytes but those of its maps.
  std::int64_t again = 0;
  for (const std::int32_t step : LastPlan().steps_redone()) {
    again += LastPlan().plan().steps(step).kind() == v1::STEP_KIND_MAP ? 1 : 0;
  }
  EXPECT_LE(again, its_own);
}

TEST_F(ResumedJobsTest, AWorkerLostWhileTheOthersArePreparedIsDoneWithout) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  const int its_own = begun_on_["worker-2"];
  RestartAndForget(absl::Milliseconds(10));
  // Its plan is made and told; its tasks start.
  for (int ms = 0; ms < 20'000 && !LastPlan().resumed(); ++ms) RunFor(absl::Milliseconds(1));
  ASSERT_TRUE(LastPlan().resumed());
  RunFor(absl::Milliseconds(5));
  world_->KillWorker("worker-2");
  ExpectRightResult(id);
  EXPECT_LT(begun_on_["worker-0"] + begun_on_["worker-1"], kMaps);
  EXPECT_GT(its_own, 0);
}

TEST_F(ResumedJobsTest, OneThatComesBackLateIsGivenWork) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps / 2);
  const sim::WorkerModel model = world_->FindWorker("worker-2")->model();
  world_->KillWorker("worker-2");
  RestartAndForget(absl::Milliseconds(10));
  for (int ms = 0; ms < 20'000 && StatusOf(id).state() != v1::JOB_STATE_RUNNING; ms += 10) {
    RunFor(absl::Milliseconds(10));
  }
  world_->StartWorker(model);
  RunFor(absl::Seconds(2));
  EXPECT_THAT(world_->FindWorker("worker-2")->HeldJobs(), Not(IsEmpty()));
  ExpectRightResult(id);
}

TEST_F(ResumedJobsTest, AnInputThatHasChangedIsMappedAnew) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  ASSERT_TRUE(world_->storage().WriteSized("/in/data", 900'000'000).ok());
  RestartAndForget(absl::Milliseconds(10));
  for (int s = 0; s < 600 && !IsTerminal(StatusOf(id).state()); ++s) RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(StatusOf(id).counters(0).value(), 900'000'000);
  EXPECT_FALSE(LastPlan().resumed());
  RunFor(absl::Seconds(2));
  for (const auto& [name, worker] : world_->workers()) {
    EXPECT_THAT(worker->HeldJobs(), IsEmpty()) << name;
  }
}

TEST_F(ResumedJobsTest, WorkersForgetWhatNobodyGoesOnWith) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  RestartAndForget(absl::Milliseconds(10));
  for (int s = 0; s < 100 && world_->FindWorker("worker-0")->HeldJobs().empty(); ++s) {
    RunFor(absl::Milliseconds(10));
  }
  v1::CancelRequest cancel;
  cancel.set_job_id(id);
  RunFor(absl::Milliseconds(100));
  world_->master().jobs().Send<rpc::Cancel>(cancel, [](const auto&) {});
  RunFor(absl::Seconds(10));
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_CANCELLED);
  for (const auto& [name, worker] : world_->workers()) {
    EXPECT_THAT(worker->HeldJobs(), IsEmpty()) << name;
  }
}

TEST_F(ResumedJobsTest, AllMayBeKilledMasterAndWorkers) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  for (const char* name : {"worker-0", "worker-1", "worker-2"}) {
    RestartWorker(name, absl::ZeroDuration());
  }
  RestartAndForget(absl::Milliseconds(10));
  ExpectRightResult(id);
  EXPECT_TRUE(LastPlan().resumed());
  EXPECT_EQ(maps_begun_, 0);
}

TEST_F(ResumedJobsTest, AndAllOfThemAgain) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  RestartAndForget(absl::Milliseconds(500));
  RunFor(absl::Seconds(8));
  ASSERT_TRUE(LastPlan().resumed());
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING);
  for (const char* name : {"worker-0", "worker-1", "worker-2"}) {
    RestartWorker(name, absl::ZeroDuration());
  }
  RestartAndForget(absl::Milliseconds(10));
  ExpectRightResult(id);
  EXPECT_EQ(LastPlan().plan_epoch(), 3);
  EXPECT_EQ(maps_begun_, 0);
}

TEST_F(ResumedJobsTest, AWorkerThatIsBackAtOnceKeepsItsMaps) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  Forget();
  RestartWorker("worker-2", absl::Milliseconds(100));
  RunFor(absl::Seconds(3));
  const v1::JobStatus status = StatusOf(id);
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).steps_redone(), 0) << status.losses(0).edit();
  EXPECT_GT(status.losses(0).runs_kept(), 0);
  ExpectRightResult(id);
  EXPECT_EQ(maps_begun_, 0);
}

TEST_F(ResumedJobsTest, OneThatIsBackWhileItsMapsRunDoesOneOfThemAgain) {
  const std::string id = SubmitMaps();
  // So many that waiting for those of one worker is worth it.
  RunUntilMapsDone(kMaps * 3 / 4);
  const int begun = maps_begun_;
  RestartWorker("worker-2", absl::Milliseconds(100));
  ExpectRightResult(id);
  EXPECT_GT(begun, kMaps * 3 / 4);
  EXPECT_EQ(maps_begun_, kMaps + 1) << "the one under way";
}

TEST_F(ResumedJobsTest, SeveralMayBeBackAtOnce) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  Forget();
  const sim::WorkerModel model = world_->FindWorker("worker-0")->model();
  world_->KillWorker("worker-0");
  RestartWorker("worker-1", absl::Milliseconds(1));
  world_->StartWorker(model);
  ExpectRightResult(id);
  EXPECT_EQ(maps_begun_, 0);
}

TEST_F(ResumedJobsTest, OneMayBeKilledAgainWhileItComesBack) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  const int its_own = begun_on_["worker-2"];
  Forget();
  for (const int ms : {1, 3, 20, 60}) {
    RestartWorker("worker-2", absl::Milliseconds(10));
    RunFor(absl::Milliseconds(ms));
  }
  RestartWorker("worker-2", absl::Milliseconds(10));
  ExpectRightResult(id);
  EXPECT_LE(maps_begun_, 3 * its_own) << "in parts, if at all";
}

TEST_F(ResumedJobsTest, AMasterThatEndsAfterwardsGoesOnFromAllOfThem) {
  const std::string id = SubmitMaps();
  RunUntilMapsDone(kMaps);
  RestartWorker("worker-2", absl::Milliseconds(100));
  RunFor(absl::Seconds(3));
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING);
  RestartAndForget(absl::Milliseconds(500));
  ExpectRightResult(id);
  EXPECT_TRUE(LastPlan().resumed());
  EXPECT_EQ(maps_begun_, 0);
}

}  // namespace
}  // namespace weir::master
