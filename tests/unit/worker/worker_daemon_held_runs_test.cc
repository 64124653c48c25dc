// What a worker keeps of a job when its lease ends, or when its daemon is killed, and how a later
// plan, or the same one, goes on with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/worker/worker_daemon_fixture.h"

namespace weir::worker {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

class HeldRunsTest : public WorkerDaemonTest {
 protected:
  /// A job with one run and what others sent, whose master then goes away.
  void LoseLeaseWithARun() {
    StartRegistered("good");
    ASSERT_TRUE(Prepare().ok());
    ASSERT_TRUE(StartStep(MapStep(3)).ok());
    ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 1; }));
    std::ofstream(JobFile("received/8.1.0")) << "half a section";
    std::ofstream(JobFile("runs/4.1.run")) << "half a run";
    master_.down = true;
    ASSERT_TRUE(Until([&] { return !daemon_->registered(); }));
    ASSERT_TRUE(Until([&] { return !std::filesystem::exists(JobFile("runs/4.1.run")); }));
  }
  /// A job with one run whose lease ends while nothing can be removed.
  void FailToHold() {
    StartRegistered("good");
    ASSERT_TRUE(Prepare().ok());
    ASSERT_TRUE(StartStep(MapStep(3)).ok());
    ASSERT_TRUE(Until([&] { return Reported(3); }));
    storage_.sticky = true;
    master_.down = true;
    // What is beside the runs, and then all.
    ASSERT_TRUE(Until([&] { return storage_.stuck.size() == 2; }));
    Turn();
  }
  void ComeBack() {
    const std::size_t before = master_.registrations.size();
    master_.down = false;
    ASSERT_TRUE(Until([&] { return daemon_->registered(); }));
    ASSERT_GT(master_.registrations.size(), before);
  }
  /// A job with one run, of whose second one nothing is known yet when the daemon is killed.
  void BeKilledWithARun() {
    StartRegistered("good");
    ASSERT_TRUE(Prepare().ok());
    ASSERT_TRUE(StartStep(MapStep(3)).ok());
    ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 1; }));
    std::ofstream(JobFile("received/8.1.0")) << "half a section";
    std::ofstream(JobFile("runs/4.1.run")) << "half a run";
    Kill();
  }
  /// As SIGKILL does, and its descriptors with it.
  void Kill() {
    killed_ = daemon_->directory();
    daemon_.reset();
    runs_.RemoveJob("j");
    ++random_.value;
  }
  bool Reported(int step) const {
    return !master_.step_reports.empty() && master_.step_reports.back().result().step() == step;
  }
  const v1::RegisterRequest& Told() const { return master_.registrations.back(); }
  /// The last registration tells of this run, of the first plan, and of no other.
  void ExpectTold(const v1::RunInfo& made) const {
    ASSERT_EQ(Told().held_size(), 1);
    const v1::HeldJob& held = Told().held(0);
    EXPECT_EQ(held.job_id(), "j");
    EXPECT_EQ(held.master_epoch(), 2);
    EXPECT_EQ(held.plan_epoch(), 1);
    ASSERT_EQ(held.runs_size(), 1);
    EXPECT_EQ(held.runs(0).attempt(), 1);
    EXPECT_EQ(held.runs(0).result().run().SerializeAsString(), made.SerializeAsString());
  }
  /// A step has ended, and the disk is busy. No heartbeat has the daemon look at its directory, so
  /// whatever waits for the disk is of the step.
  void EndAStepBeforeItIsWrittenDown() {
    constexpr std::int64_t kNeverMs = 600'000;
    master_.heartbeat_ms = kNeverMs;
    master_.lease_ms = 2 * kNeverMs;
    StartRegistered("good");
    ASSERT_TRUE(Prepare().ok());
    ASSERT_TRUE(StartStep(MapStep(3)).ok());
    pool_.busy = true;
    ASSERT_TRUE(Until([&] { return !pool_.waiting.empty(); }));
    Turn();
  }
  /// Whatever was posted has run, and what that posted.
  void Turn() {
    bool later = false;
    loop_.Post([&] { loop_.Post([&] { later = true; }); });
    ASSERT_TRUE(Until([&] { return later; }));
  }
  absl::Status PrepareKept(std::int64_t of_plan) {
    v1::PrepareJobRequest request;
    *request.mutable_fence() = FenceNow();
    request.mutable_spec()->set_job("wordcount");
    request.set_staging_dir(staging_);
    request.set_job_token(77);
    request.mutable_kept()->set_master_epoch(2);
    request.mutable_kept()->set_plan_epoch(of_plan);
    return Order<rpc::PrepareJob>(request).status();
  }
  /// The plan of now reads the run that an earlier one made, and has a further one made.
  void ExpectGoesOn() {
    const auto run = runs_.Find({"j", 77, 2, plan_epoch_}, "3.1");
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->path, JobFile("runs/3.1.run"));
    ASSERT_TRUE(StartStep(MapStep(4)).ok());
    ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 2; }));
    EXPECT_FALSE(master_.step_reports[1].result().has_error());
  }

  std::string killed_;  // the directory of the daemon that was
};

TEST_F(HeldRunsTest, AreToldAndGoneOnWith) {
  LoseLeaseWithARun();
  EXPECT_TRUE(std::filesystem::exists(JobFile("runs/3.1.run")));
  EXPECT_FALSE(std::filesystem::exists(JobFile("received")));
  EXPECT_FALSE(runs_.Find({"j", 99, 2, 1}, "3.1").ok()) << "nobody may read it now";
  ComeBack();
  ExpectTold(master_.step_reports[0].result().run());

  plan_epoch_ = 2;
  ASSERT_TRUE(PrepareKept(1).ok());
  EXPECT_TRUE(PrepareKept(1).ok()) << "twice is no error";
  EXPECT_FALSE(runs_.Find({"j", 99, 2, 1}, "3.1").ok()) << "the fence of before";
  ExpectGoesOn();
  EXPECT_TRUE(Release().ok());
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.run")));
}

TEST_F(HeldRunsTest, StayWhereTheNextPlanFollowsAtOnce) {
  LoseLeaseWithARun();
  ComeBack();
  plan_epoch_ = 2;
  ASSERT_TRUE(PrepareKept(1).ok());
  plan_epoch_ = 3;
  ASSERT_TRUE(PrepareKept(1).ok());
  EXPECT_TRUE(runs_.Find({"j", 77, 2, 3}, "3.1").ok());
  plan_epoch_ = 4;
  ASSERT_TRUE(Prepare().ok()) << "and one that begins with nothing";
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.run")));
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, GoWhereAPlanDoesNotAskForThem) {
  LoseLeaseWithARun();
  ComeBack();
  plan_epoch_ = 2;
  ASSERT_TRUE(Prepare().ok());
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.run")));
  ASSERT_TRUE(StartStep(MapStep(3)).ok()) << "the name is free";
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 2; }));
  EXPECT_FALSE(master_.step_reports[1].result().has_error());
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, AreRefusedToAPlanThatMeansOthers) {
  LoseLeaseWithARun();
  ComeBack();
  plan_epoch_ = 3;
  EXPECT_FALSE(PrepareKept(2).ok());
  plan_epoch_ = 4;
  EXPECT_TRUE(Prepare().ok()) << "which then begins with nothing";
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, AreMissedWhereTheyAreGone) {
  LoseLeaseWithARun();
  std::filesystem::remove(JobFile("runs/3.1.run"));
  ComeBack();
  plan_epoch_ = 2;
  EXPECT_FALSE(PrepareKept(1).ok());
}

TEST_F(HeldRunsTest, GoWithAJobThatNobodyKnows) {
  LoseLeaseWithARun();
  ComeBack();
  ASSERT_TRUE(Until([&] { return !master_.heartbeats.empty(); }));
  ASSERT_TRUE(Until([&] {
    const auto& held = master_.heartbeats.back().held_jobs();
    return std::find(held.begin(), held.end(), "j") != held.end();
  }));
  master_.ended_jobs = {"j"};
  EXPECT_TRUE(Until([&] { return master_.heartbeats.back().held_jobs().empty(); }));
  EXPECT_TRUE(Until([&] { return !std::filesystem::exists(JobFile("")); }));
}

TEST_F(HeldRunsTest, AreToldByTheNextLifeOfADaemonThatWasKilled) {
  BeKilledWithARun();
  StartRegistered("good");
  EXPECT_FALSE(std::filesystem::exists(killed_));
  v1::RunInfo made = master_.step_reports[0].result().run();
  made.set_path(JobFile("runs/3.1.run"));
  ExpectTold(made);
  EXPECT_FALSE(std::filesystem::exists(JobFile("received")));
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/4.1.run")));
  EXPECT_FALSE(runs_.Find({"j", 77, 2, 1}, "3.1").ok()) << "nobody has asked for it";

  ASSERT_TRUE(PrepareKept(1).ok()) << "the plan that ran";
  ExpectGoesOn();
  EXPECT_TRUE(Release().ok());
  EXPECT_FALSE(std::filesystem::exists(JobFile("")));
}

TEST_F(HeldRunsTest, AreThoseOfThePlanThatWentOnWithThemAfterwards) {
  BeKilledWithARun();
  StartRegistered("good");
  plan_epoch_ = 2;
  ASSERT_TRUE(PrepareKept(1).ok());
  Kill();
  StartRegistered("good");
  ASSERT_EQ(Told().held_size(), 1);
  EXPECT_EQ(Told().held(0).plan_epoch(), 2);
  ASSERT_EQ(Told().held(0).runs_size(), 1);
  ASSERT_TRUE(PrepareKept(2).ok());
  plan_epoch_ = 3;
  ASSERT_TRUE(PrepareKept(2).ok()) << "a plan that follows at once";
  ASSERT_TRUE(runs_.Find({"j", 77, 2, 3}, "3.1").ok());
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, AreNotToldWhereNobodyReadsThemAnyMore) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 1; }));
  v1::StepOrder next = MapStep(4);
  next.add_unread_runs("3.1");
  ASSERT_TRUE(StartStep(next).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 2; }));
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.held")));
  Kill();
  StartRegistered("good");
  ASSERT_EQ(Told().held_size(), 1);
  ASSERT_EQ(Told().held(0).runs_size(), 1);
  EXPECT_EQ(Told().held(0).runs(0).result().run().run_id(), "4.1");
  EXPECT_TRUE(Prepare().ok()) << "by a plan that does not ask for them";
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/4.1.run")));
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, OfAKilledDaemonGoWithAJobThatNobodyKnows) {
  BeKilledWithARun();
  master_.ended_jobs = {"j"};
  StartRegistered("good");
  EXPECT_EQ(Told().held_size(), 1);
  EXPECT_TRUE(Until([&] { return !std::filesystem::exists(JobFile("")); }));
}

TEST_F(HeldRunsTest, AreToldAsDoneOnceTheyAreWrittenDown) {
  EndAStepBeforeItIsWrittenDown();
  EXPECT_THAT(master_.step_reports, IsEmpty()) << "killed now, it would have told of what is gone";
  pool_.WorkOff();
  EXPECT_TRUE(std::filesystem::exists(JobFile("runs/3.1.held")));
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 1; }));
  EXPECT_FALSE(master_.step_reports[0].result().has_error());
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, AreNotToldAsDoneByAWorkerThatLetGoMeanwhile) {
  EndAStepBeforeItIsWrittenDown();
  v1::ReleaseJobRequest request;
  *request.mutable_fence() = FenceNow();
  bool released = false;
  daemon_->api().Send<rpc::ReleaseJob>(request, [&](const auto& answer) {
    EXPECT_TRUE(answer.ok()) << answer.status();
    released = true;
  });
  Turn();
  EXPECT_FALSE(released) << "what is written would lie there afterwards";
  pool_.WorkOff();
  EXPECT_TRUE(Until([&] { return released; }));
  EXPECT_FALSE(std::filesystem::exists(JobFile("")));
  EXPECT_THAT(master_.step_reports, IsEmpty());
}

TEST_F(HeldRunsTest, CountAsDoneWhereTheyCannotBeWrittenDown) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  std::filesystem::create_directory(JobFile("runs/3.1.held"));
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 1; }));
  EXPECT_FALSE(master_.step_reports[0].result().has_error());
  EXPECT_TRUE(runs_.Find({"j", 99, 2, 1}, "3.1").ok());
  Kill();
  StartRegistered("good");
  EXPECT_EQ(Told().held_size(), 0);
}

TEST_F(HeldRunsTest, BeyondWhatARegistrationTellsAreMadeAgain) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  for (const int step : {3, 4}) {
    ASSERT_TRUE(StartStep(MapStep(step)).ok());
    ASSERT_TRUE(Until([&] { return Reported(step); }));
  }
  Kill();
  // One, with what stands around it, and not two.
  held_bytes_max_ = master_.step_reports[0].result().ByteSizeLong() * 3 / 2;
  StartRegistered("good");
  ASSERT_EQ(Told().held_size(), 1);
  ASSERT_EQ(Told().held(0).runs_size(), 1);
  const int kept = Told().held(0).runs(0).result().step();
  const int lost = 7 - kept;
  const std::string lost_id = absl::StrCat(lost, ".1");

  ASSERT_TRUE(PrepareKept(1).ok());
  EXPECT_TRUE(runs_.Find({"j", 77, 2, 1}, absl::StrCat(kept, ".1")).ok());
  EXPECT_FALSE(runs_.Find({"j", 77, 2, 1}, lost_id).ok()) << "the master knows nothing of it";
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/" + lost_id + ".run")));
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/" + lost_id + ".held")));
  master_.step_reports.clear();
  ASSERT_TRUE(StartStep(MapStep(lost)).ok());
  ASSERT_TRUE(Until([&] { return Reported(lost); }));
  EXPECT_FALSE(master_.step_reports[0].result().has_error()) << "its file was in the way";
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, OfAKilledDaemonThatAreNotToldGoWhenTheirJobBeginsAnew) {
  BeKilledWithARun();
  held_bytes_max_ = 10;
  StartRegistered("good");
  EXPECT_EQ(Told().held_size(), 0);
  ASSERT_TRUE(std::filesystem::exists(JobFile("runs/3.1.run"))) << "nothing to test";
  plan_epoch_ = 2;
  ASSERT_TRUE(Prepare().ok());
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.run")));
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, OfAJobThatIsNotToldGoWhenItBeginsAnew) {
  held_bytes_max_ = 10;
  LoseLeaseWithARun();
  ComeBack();
  EXPECT_EQ(Told().held_size(), 0);
  plan_epoch_ = 2;
  ASSERT_TRUE(Prepare().ok());
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.run")));
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, OfAJobThatIsNotToldGoThoughItIsOnlyJustKept) {
  held_bytes_max_ = 10;
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Until([&] { return Reported(3); }));
  pool_.busy = true;
  master_.down = true;
  ASSERT_TRUE(Until([&] { return !daemon_->registered(); }));
  ComeBack();
  EXPECT_EQ(Told().held_size(), 0);
  pool_.WorkOff();
  EXPECT_TRUE(Until([&] { return !std::filesystem::exists(JobFile("")); }));
}

TEST_F(HeldRunsTest, AJobThatCannotBeClearedBeginsAnewOnceItCan) {
  FailToHold();
  ComeBack();
  storage_.sticky = false;
  plan_epoch_ = 2;
  const absl::Status prepared = Prepare();
  ASSERT_TRUE(prepared.ok()) << prepared;
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.run")));
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, AJobThatCannotBeClearedIsToldOfUntilItIsGone) {
  FailToHold();
  ComeBack();
  storage_.stuck.clear();
  master_.ended_jobs = {"j"};
  ASSERT_TRUE(Until([&] { return storage_.stuck.size() >= 3; })) << "tried again and again";
  EXPECT_TRUE(std::filesystem::exists(JobFile("")));
  storage_.sticky = false;
  EXPECT_TRUE(Until([&] { return !std::filesystem::exists(JobFile("")); }));
  EXPECT_TRUE(Until([&] { return master_.heartbeats.back().held_jobs().empty(); }));
}

TEST_F(HeldRunsTest, GoWithTheirWorker) {
  LoseLeaseWithARun();
  Stop();
  EXPECT_THAT(FilesIn(work_dir_.path()), IsEmpty());
}

// What is left behind a step, by who may have a use for it.
class LeftBehindTest : public WorkerDaemonTest {
 protected:
  std::vector<std::string> NamesAfterAStep() {
    StartRegistered("good");
    EXPECT_TRUE(Prepare().ok());
    EXPECT_TRUE(StartStep(MapStep(3)).ok());
    EXPECT_TRUE(Until([&] { return master_.step_reports.size() == 1; }));
    EXPECT_FALSE(master_.step_reports.at(0).result().has_error());
    std::vector<std::string> names;
    for (const std::string& path : FilesIn(JobFile("")))
      names.push_back(path.substr(JobFile("").size()));
    return names;
  }
};

TEST_F(LeftBehindTest, OfAJobItsOrderAndWordOfItsRun) {
  EXPECT_THAT(NamesAfterAStep(), UnorderedElementsAre("received", "task", "runs", "runs/3.1.run",
                                                      "runs/3.1.spec.json", "runs/3.1.held"));
}

TEST_F(LeftBehindTest, NoWordWhereNoLaterLifeCanUseTheRun) {
  runs_outlive_ = false;
  EXPECT_THAT(NamesAfterAStep(), UnorderedElementsAre("received", "task", "runs", "runs/3.1.run",
                                                      "runs/3.1.spec.json"));
}

TEST_F(LeftBehindTest, OfASampleTheRunAlone) {
  is_sample_ = true;
  EXPECT_THAT(NamesAfterAStep(), UnorderedElementsAre("task", "runs", "runs/3.1.run"));
}

// Whether runs may refer to the input, as the orders say that are written beside them.
class RefersToInputTest : public LeftBehindTest {
 protected:
  bool Refers(std::int64_t input_bytes) {
    input_bytes_ = input_bytes;
    NamesAfterAStep();
    std::ifstream file(JobFile("runs/3.1.spec.json"));
    const std::string spec((std::istreambuf_iterator<char>(file)), {});
    EXPECT_FALSE(spec.empty());
    return spec.find("refersToInput") != std::string::npos;
  }
};

TEST_F(RefersToInputTest, OfHalfOfItsPartOfALimit) {
  workers_on_machine_ = 4;
  memory_bytes_ = 128 << 20;  // of which 88 MiB are for tables and pairs
  EXPECT_TRUE(Refers(44 << 20));
}

TEST_F(RefersToInputTest, NotOfMoreThanHalfOfItsPartOfALimit) {
  workers_on_machine_ = 4;
  memory_bytes_ = 128 << 20;
  EXPECT_FALSE(Refers((44 << 20) + 1));
}

TEST_F(RefersToInputTest, OfHalfOfWhatAllHaveWhereThatIsNoLimit) {
  workers_on_machine_ = 4;
  spill_above_bytes_ = 88 << 20;
  EXPECT_TRUE(Refers(4 * 44 << 20));
}

TEST_F(RefersToInputTest, NotOfMoreThanHalfOfWhatAllHave) {
  workers_on_machine_ = 4;
  spill_above_bytes_ = 88 << 20;
  EXPECT_FALSE(Refers((4 * 44 << 20) + 1));
}

TEST_F(RefersToInputTest, NeverWhereWorkersOfOtherMachinesMayReadTheRun) {
  EXPECT_FALSE(Refers(1));
}

}  // namespace
}  // namespace weir::worker
