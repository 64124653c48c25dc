// Workers that tell what cannot be, or is not so: the whole master on virtual time. Each is to
// blame for its own words, and the job goes on without it.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class UntrueReports : public MasterTest {
 protected:
  void AddWorkersWithChannels(double channel_seconds_per_byte) {
    for (const char* name : {"worker-0", "worker-1", "worker-2"}) {
      sim::WorkerModel model;
      model.name = name;
      model.channel_seconds_per_byte = channel_seconds_per_byte;
      world_->StartWorker(model);
    }
    RunFor(absl::Seconds(1));
  }
  // Three maps of 1.3 s each.
  void BeginJob(const v1::JobSpec& spec = EvenSpec(3, 3)) {
    world_->WatchSteps([this](const std::string& worker, const v1::StepOrder& order) {
      step_of_[worker] = order.step();
    });
    const absl::StatusOr<std::string> id = Submit(spec);
    ASSERT_TRUE(id.ok()) << id.status();
    id_ = *id;
    for (int ms = 0; ms < 10'000 && !step_of_.contains("worker-1"); ++ms) {
      RunFor(absl::Milliseconds(1));
    }
    ASSERT_TRUE(step_of_.contains("worker-1"));
    RunFor(absl::Milliseconds(10));
    ASSERT_EQ(StatusOf(id_).state(), v1::JOB_STATE_RUNNING);
  }
  v1::WorkerStatus Worker1() {
    v1::WorkerStatus found;
    master().jobs().Send<rpc::ListWorkers>({}, [&found](const auto& response) {
      for (const v1::WorkerStatus& worker : response->workers()) {
        if (worker.identity().name() == "worker-1") found = worker;
      }
    });
    return found;
  }
  /// Has worker 1 tell it, of its first attempt.
  template <typename Method>
  absl::Status Tell(typename Method::Request report, std::int64_t plan_epoch = 1) {
    const v1::WorkerStatus worker = Worker1();
    report.set_worker_id(worker.worker_id());
    v1::Fence& fence = *report.mutable_fence();
    fence.set_job_id(id_);
    fence.set_master_epoch(1);
    fence.set_plan_epoch(plan_epoch);
    fence.set_worker_epoch(worker.epoch());
    fence.set_attempt(1);
    absl::Status answer = absl::UnknownError("no answer");
    master().cluster().Send<Method>(
        report, [&answer](const auto& response) { answer = response.status(); });
    return answer;
  }
  /// What it could tell of its map.
  v1::ReportStepRequest SoundReport() {
    v1::ReportStepRequest report;
    v1::StepResult& result = *report.mutable_result();
    result.set_step(step_of_.at("worker-1"));
    result.mutable_run()->set_run_id(std::to_string(step_of_.at("worker-1")) + ".1");
    return report;
  }
  /// Others do the job, by a plan whose epoch is `plan_epoch` once worker 1 is lost.
  void ExpectTheJobIsDoneWithoutWorker1(const std::string& why, int plan_epoch) {
    RunFor(absl::Seconds(180));
    const v1::JobStatus status = StatusOf(id_);
    ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    ASSERT_EQ(status.losses_size(), 1);
    EXPECT_EQ(status.losses(0).worker(), "worker-1");
    EXPECT_THAT(status.losses(0).why(), HasSubstr(why));
    EXPECT_EQ(status.losses(0).plan_epoch(), plan_epoch);
  }
  void ExpectTheJobGoesOnWithoutWorker1(const std::string& why) {
    ExpectTheJobIsDoneWithoutWorker1(why, /*plan_epoch=*/1);
    if (HasFatalFailure()) return;
    EXPECT_FALSE(StatusOf(id_).losses(0).edit().empty()) << "the plan goes on";
  }

  std::string id_;
  std::map<std::string, int> step_of_;  // the last that began, by worker
};

struct UntrueResult {
  const char* name;
  void (*spoil)(v1::StepResult& result);
};

class UntrueResultsTest : public UntrueReports, public testing::WithParamInterface<UntrueResult> {};

TEST_P(UntrueResultsTest, CostTheirWorkerTheJobAndTheJobNothing) {
  AddWorkers(3);
  BeginJob();
  v1::ReportStepRequest report = SoundReport();
  GetParam().spoil(*report.mutable_result());
  const absl::Status answer = Tell<rpc::ReportStep>(report);
  EXPECT_TRUE(answer.ok() || absl::IsInvalidArgument(answer)) << answer;
  ExpectTheJobGoesOnWithoutWorker1("worker worker-1 sent a report that makes no sense: ");
  for (const auto& [step, worker] : Commits()) EXPECT_NE(worker, "worker-1") << step;
}

constexpr UntrueResult kUntrueResults[] = {
    {"NoRun", [](v1::StepResult& result) { result.clear_run(); }},
    {"APartInPlaceOfARun",
     [](v1::StepResult& result) {
       result.clear_run();
       result.mutable_part()->set_bytes(1);
     }},
    {"TheRunOfAnotherStep",
     [](v1::StepResult& result) { result.mutable_run()->set_run_id("77.1"); }},
    {"ASectionThatNobodyReads",
     [](v1::StepResult& result) {
       result.mutable_run()->set_bytes(5);
       v1::RunSection& section = *result.mutable_run()->add_sections();
       section.set_consumer_step(999);
       section.set_bytes(5);
     }},
    {"ASectionBehindTheEnd",
     [](v1::StepResult& result) { result.mutable_run()->add_sections()->set_bytes(5); }},
    {"MoreThanAnyDiskHolds",
     [](v1::StepResult& result) {
       result.mutable_run()->set_bytes(std::numeric_limits<std::int64_t>::max());
     }},
    {"ATimeThatIsNoNumber",
     [](v1::StepResult& result) { result.set_run_s(std::numeric_limits<double>::quiet_NaN()); }},
    {"ANegativeTime", [](v1::StepResult& result) { result.set_cpu_s(-1); }},
    {"NegativeRecords", [](v1::StepResult& result) { result.set_input_records(-1); }},
    {"AStepThatNoPlanHas", [](v1::StepResult& result) { result.set_step(999); }},
    {"NoStep", [](v1::StepResult& result) { result.set_step(-1); }},
    {"AnErrorWithoutACode",
     [](v1::StepResult& result) { result.mutable_error()->set_message("it failed"); }},
    {"RecordsLeftOutThatHadToBeTaken", [](v1::StepResult& result) { result.add_skipped(); }},
};

INSTANTIATE_TEST_SUITE_P(Of, UntrueResultsTest, testing::ValuesIn(kUntrueResults),
                         [](const auto& of) { return std::string(of.param.name); });

class UntrueReportsTest : public UntrueReports {};

TEST_F(UntrueReportsTest, OfAnotherPlanAreNobodysBusiness) {
  AddWorkers(3);
  BeginJob();
  v1::ReportStepRequest report = SoundReport();
  report.mutable_result()->set_step(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(Tell<rpc::ReportStep>(report, /*plan_epoch=*/7)));
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id_);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  EXPECT_EQ(status.losses_size(), 0);
}

TEST_F(UntrueReportsTest, WhoFailsCannotNameAnotherWorker) {
  AddWorkers(3);
  BeginJob();
  v1::ReportStepRequest report = SoundReport();
  v1::JobError& error = *report.mutable_result()->mutable_error();
  error = MakeJobError(job_error::kInternal, "a file is gone");
  error.set_fault_of(v1::FAULT_OF_WORKER);
  error.set_worker("worker-2");
  EXPECT_TRUE(Tell<rpc::ReportStep>(report).ok());
  ExpectTheJobGoesOnWithoutWorker1("a file is gone");
}

struct UntrueTransfer {
  const char* name;
  const char* why;
  void (*spoil)(v1::TransferReport& report);
};

class UntrueTransfersTest : public UntrueReports,
                            public testing::WithParamInterface<UntrueTransfer> {};

// Six transfers of about 5.5 MB, for 5.5 s each. Of those that worker 1 does not receive just now
// it is not heard.
TEST_P(UntrueTransfersTest, CostTheirReceiverTheJobAndTheJobNothing) {
  AddWorkersWithChannels(1 / 1e6);
  BeginJob();
  RunFor(absl::Seconds(4));
  const v1::Plan plan = LastPlan().plan();
  for (int t = 0; t < plan.transfers_size(); ++t) {
    if (plan.worker_names(plan.transfers(t).receiver()) != "worker-1") continue;
    v1::ReportTransferRequest report;
    report.mutable_report()->set_transfer(t);
    GetParam().spoil(*report.mutable_report());
    (void)Tell<rpc::ReportTransfer>(report);
  }
  ExpectTheJobGoesOnWithoutWorker1(GetParam().why);
}

constexpr UntrueTransfer kUntrueTransfers[] = {
    {"AnotherNumberOfBytes", "makes no sense: it has received 7 bytes of ",
     [](v1::TransferReport& report) {
       report.set_done(true);
       report.set_bytes(7);
     }},
    {"MoreLeftThanThereWas", "makes no sense: it has yet to receive 1099511627776 bytes of ",
     [](v1::TransferReport& report) {
       report.set_nearly_done(true);
       report.set_bytes_left(std::int64_t{1} << 40);
     }},
    {"FewerThanNoneLeft", "makes no sense: report.bytes_left is '-1'",
     [](v1::TransferReport& report) {
       report.set_nearly_done(true);
       report.set_bytes_left(-1);
     }},
    {"ATransferThatNoPlanHas", "makes no sense: the plan has no transfer 999",
     [](v1::TransferReport& report) { report.set_transfer(999); }},
    {"AnErrorOfTheJobsCode", "it threw",
     [](v1::TransferReport& report) {
       *report.mutable_error() = MakeJobError(job_error::kUserError, "it threw");
     }},
};

INSTANTIATE_TEST_SUITE_P(Of, UntrueTransfersTest, testing::ValuesIn(kUntrueTransfers),
                         [](const auto& of) { return std::string(of.param.name); });

// Each worker writes a part of about 17 MB. What it is and what is told of it, the commit sees.
class UntruePartsTest : public UntrueReports {
 protected:
  /// Until worker 1 reduces. The commit waits until Publish.
  void BeginReducing(const v1::JobSpec& spec = EvenSpec(3, 3)) {
    BeginJob(spec);
    world_->WatchSteps([this](const std::string& worker, const v1::StepOrder& order) {
      if (order.kind() == v1::STEP_KIND_REDUCE) reduce_of_[worker] = order;
    });
    world_->disk_pool().Hold();
    for (int ms = 0; ms < 60'000 && !reduce_of_.contains("worker-1"); ++ms) {
      RunFor(absl::Milliseconds(1));
    }
    ASSERT_TRUE(reduce_of_.contains("worker-1"));
  }
  absl::Status TellPartOf(std::int64_t bytes) {
    v1::ReportStepRequest report;
    report.mutable_result()->set_step(reduce_of_.at("worker-1").step());
    report.mutable_result()->mutable_part()->set_bytes(bytes);
    return Tell<rpc::ReportStep>(report);
  }
  void RunToTheCommit() {
    for (int ms = 0; ms < 60'000 && StatusOf(id_).state() != v1::JOB_STATE_COMMITTING; ++ms) {
      RunFor(absl::Milliseconds(1));
    }
    // Who told of its part before it was there has written it by then.
    RunFor(absl::Seconds(5));
    ASSERT_EQ(StatusOf(id_).state(), v1::JOB_STATE_COMMITTING);
  }
  void LosePartOf(const std::string& worker) {
    const std::string& path = reduce_of_.at(worker).part_path();
    ASSERT_TRUE(world_->storage().Stat(path).ok()) << path;
    ASSERT_TRUE(world_->storage().RemoveAll(path).ok()) << path;
  }
  void Publish() { world_->disk_pool().GoOn(); }
  void ExpectTheJobIsPlannedAgainWithoutWorker1(const std::string& why) {
    // The first plan was done.
    ExpectTheJobIsDoneWithoutWorker1(why, /*plan_epoch=*/2);
    EXPECT_THAT(LastPlan().plan().worker_names(), Not(Contains("worker-1")));
    EXPECT_EQ(StatusOf(id_).parts_size(), 3);
  }
  void ExpectTheJobEnds(std::string_view code) {
    RunFor(absl::Seconds(180));
    const v1::JobStatus status = StatusOf(id_);
    EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
    EXPECT_EQ(status.error().code(), code) << DescribeJobError(status.error());
  }

  std::map<std::string, v1::StepOrder> reduce_of_;  // the last that began, by worker
};

class UntruePartSizesTest : public UntruePartsTest,
                            public testing::WithParamInterface<std::int64_t> {};

TEST_P(UntruePartSizesTest, CostTheirWorkerTheJobAndTheJobAnotherPlan) {
  AddWorkers(3);
  BeginReducing();
  const absl::Status answer = TellPartOf(GetParam());
  ASSERT_TRUE(answer.ok()) << answer;
  RunToTheCommit();
  Publish();
  ExpectTheJobIsPlannedAgainWithoutWorker1(absl::StrCat("was reported with ", GetParam(),
                                                        " bytes by worker worker-1, the master "
                                                        "finds "));
}

INSTANTIATE_TEST_SUITE_P(Of, UntruePartSizesTest,
                         testing::Values(std::int64_t{0}, std::int64_t{7}, std::int64_t{1} << 50));

TEST_F(UntruePartsTest, OfFewerThanNoBytesAreRefusedAsTheyAreTold) {
  AddWorkers(3);
  BeginReducing();
  const absl::Status answer = TellPartOf(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(answer)) << answer;
  Publish();
  RunFor(absl::Seconds(180));
  const v1::JobStatus status = StatusOf(id_);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_THAT(status.losses(0).why(), HasSubstr("makes no sense: part.bytes is '-1'"));
}

TEST_F(UntruePartsTest, OneThatIsGoneCostsItsWriterTheJobAndTheJobAnotherPlan) {
  AddWorkers(3);
  BeginReducing();
  RunToTheCommit();
  EXPECT_GT(StatusOf(id_).actual_makespan_s(), 0);
  LosePartOf("worker-1");
  Publish();
  while (StatusOf(id_).state() == v1::JOB_STATE_COMMITTING) ASSERT_TRUE(world_->time().RunNext());
  EXPECT_EQ(StatusOf(id_).state(), v1::JOB_STATE_PLANNING);
  EXPECT_EQ(StatusOf(id_).actual_makespan_s(), 0) << "it is not done";
  ExpectTheJobIsPlannedAgainWithoutWorker1("by worker worker-1, the master finds no file in ");
}

TEST_F(UntruePartsTest, WhereNobodysAreThereItIsNoWorkersFault) {
  AddWorkers(3);
  BeginReducing();
  RunToTheCommit();
  ASSERT_EQ(reduce_of_.size(), 3u);
  for (const auto& [worker, order] : reduce_of_) LosePartOf(worker);
  Publish();
  ExpectTheJobEnds(job_error::kDataLoss);
  EXPECT_EQ(StatusOf(id_).losses_size(), 0) << "nobody else would do better";
}

TEST_F(UntruePartsTest, OfTheOnlyWorkerEndTheJobByItsName) {
  sim::WorkerModel model;
  model.name = "worker-1";
  world_->StartWorker(model);
  RunFor(absl::Seconds(1));
  BeginReducing();
  RunToTheCommit();
  LosePartOf("worker-1");
  Publish();
  ExpectTheJobEnds(job_error::kDataLoss);
  EXPECT_EQ(StatusOf(id_).error().worker(), "worker-1");
}

TEST_F(UntruePartsTest, ADeadlineThatPassedAsTheJobWasPublishedEndsIt) {
  v1::JobSpec spec = EvenSpec(3, 3);
  spec.set_deadline_ms(60'000);
  AddWorkers(3);
  BeginReducing(spec);
  RunToTheCommit();
  RunFor(absl::Seconds(60));
  ASSERT_EQ(StatusOf(id_).state(), v1::JOB_STATE_COMMITTING);
  LosePartOf("worker-1");
  Publish();
  ExpectTheJobEnds(job_error::kDeadline);
}

}  // namespace
}  // namespace weir::master
