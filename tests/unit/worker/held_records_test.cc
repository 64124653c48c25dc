#include "runtime/worker/held_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/artifacts/sha256.h"
#include "runtime/base/run_id.h"
#include "tests/unit/worker/real_machine.h"

namespace weir::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HeldRecordsTest : public testing::Test {
 protected:
  HeldRecordsTest() : paths_(MakeJobPaths(scratch_.path(), "j")) {
    std::filesystem::create_directories(paths_.runs);
  }
  static v1::HeldRun Run(int step, int bytes = 9) {
    v1::HeldRun run;
    run.set_attempt(1);
    run.set_plan_edit(2);
    run.mutable_result()->set_step(step);
    v1::RunInfo& info = *run.mutable_result()->mutable_run();
    info.set_run_id(RunIdOf(step, 1));
    info.set_path("/where/it/was");
    info.set_bytes(bytes);
    v1::RunSection& section = *info.add_sections();
    section.set_consumer_step(100);
    section.set_bytes(bytes);
    return run;
  }
  static v1::HeldJob Job(std::int64_t plan_epoch = 1) {
    v1::HeldJob job;
    job.set_job_id("j");
    job.set_master_epoch(2);
    job.set_plan_epoch(plan_epoch);
    return job;
  }
  void WriteRun(int step, const std::string& content = "nine byte") {
    std::ofstream(paths_.OwnRun(RunIdOf(step, 1))) << content;
  }
  void Keep(std::vector<int> steps, std::int64_t plan_epoch = 1) {
    v1::HeldJob job = Job(plan_epoch);
    for (const int step : steps) {
      WriteRun(step);
      *job.add_runs() = Run(step);
    }
    ASSERT_TRUE(WriteHeldRecords(storage_, paths_, job).ok());
  }
  /// As after a restart of the machine.
  void RewriteRecord(int step, std::uint64_t machine) {
    v1::HeldRecord record;
    record.set_machine(machine);
    *record.mutable_job() = Job();
    *record.mutable_job()->add_runs() = Run(step);
    const std::string bytes = record.SerializeAsString();
    Sha256Stream hash;
    hash.Update(bytes);
    std::ofstream(Record(step)) << hash.Finish() << bytes;
  }
  std::string Record(int step) const { return paths_.HeldRecord(RunIdOf(step, 1)); }
  /// Run ids that are found of the one job there may be.
  std::vector<std::string> Found(const RunCheck& check = nullptr) {
    const auto jobs = FindHeldJobs(storage_, scratch_.path(), check);
    std::vector<std::string> ids;
    for (const auto& [id, job] : jobs) {
      EXPECT_EQ(id, "j");
      found_ = job;
      for (const v1::HeldRun& run : job.runs()) {
        const v1::RunInfo& info = run.result().run();
        EXPECT_EQ(info.path(), paths_.OwnRun(info.run_id()));
        EXPECT_EQ(run.plan_edit(), 2);
        ids.push_back(info.run_id());
      }
    }
    return ids;
  }
  std::vector<std::string> Left() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(paths_.runs)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  env::PosixStorage storage_;
  ScratchDirectory scratch_;
  const JobPaths paths_;
  v1::HeldJob found_;
};

TEST_F(HeldRecordsTest, WholeRunsAreFoundWhereTheyAreNow) {
  Keep({3, 4});
  EXPECT_TRUE(HasHeldRecords(storage_, paths_.root));
  WriteRun(5);  // of which nothing was written down
  std::filesystem::create_directories(paths_.received);
  EXPECT_THAT(Found(), ElementsAre("3.1", "4.1"));
  EXPECT_EQ(found_.master_epoch(), 2);
  EXPECT_EQ(found_.plan_epoch(), 1);
  EXPECT_THAT(Left(), ElementsAre("3.1.held", "3.1.run", "4.1.held", "4.1.run"));
  EXPECT_FALSE(std::filesystem::exists(paths_.received));
}

TEST_F(HeldRecordsTest, WhatIsNotWholeIsRemoved) {
  Keep({1, 2, 3, 4, 5});
  WriteRun(1, "too short");
  WriteRun(2, "nine");
  std::filesystem::remove(paths_.OwnRun("3.1"));
  {
    std::fstream record(Record(4), std::ios::in | std::ios::out);
    record.seekp(-1, std::ios::end);
    record.put('\x7f');
  }
  EXPECT_THAT(Found(), ElementsAre("1.1", "5.1")) << "the first has as many bytes as it had";
  EXPECT_THAT(Left(), ElementsAre("1.1.held", "1.1.run", "5.1.held", "5.1.run"));
}

TEST_F(HeldRecordsTest, ARecordThatWasCutShortKeepsNothing) {
  for (const int bytes : {0, 10, 64, 70}) {
    Keep({3});
    std::filesystem::resize_file(Record(3), static_cast<std::uintmax_t>(bytes));
    EXPECT_THAT(Found(), IsEmpty()) << bytes;
    EXPECT_FALSE(std::filesystem::exists(paths_.root));
    std::filesystem::create_directories(paths_.runs);
  }
}

TEST_F(HeldRecordsTest, ARecordOfAnotherRunOrJobKeepsNothing) {
  Keep({3});
  std::filesystem::rename(Record(3), Record(4));
  WriteRun(4);
  EXPECT_THAT(Found(), IsEmpty());
  std::filesystem::create_directories(paths_.runs);
  Keep({3});
  std::filesystem::rename(paths_.root, scratch_.path() + "/jobs/other");
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() + "/jobs/other"));
}

TEST_F(HeldRecordsTest, SectionsLieInTheirRun) {
  WriteRun(3);
  v1::HeldJob job = Job();
  *job.add_runs() = Run(3);
  job.mutable_runs(0)->mutable_result()->mutable_run()->mutable_sections(0)->set_offset(1);
  ASSERT_TRUE(WriteHeldRecords(storage_, paths_, job).ok());
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(HeldRecordsTest, AfterARestartOfTheMachineEachByteIsRead) {
  WriteRun(3);
  WriteRun(4);
  RewriteRecord(3, 12345);
  RewriteRecord(4, 12345);
  std::vector<std::string> read;
  const auto check = [&read](const v1::RunInfo& run) {
    read.push_back(run.run_id());
    return run.run_id() == "3.1" ? absl::OkStatus() : absl::DataLossError("zeros");
  };
  EXPECT_THAT(Found(check), ElementsAre("3.1"));
  EXPECT_THAT(read, ElementsAre("3.1", "4.1"));
  EXPECT_THAT(Found(), IsEmpty()) << "and without a reader nothing is kept";
}

TEST_F(HeldRecordsTest, OfTwoPlansTheLastCounts) {
  Keep({3, 4}, 1);
  Keep({4}, 2);
  EXPECT_THAT(Found(), ElementsAre("4.1"));
  EXPECT_EQ(found_.plan_epoch(), 2);
  EXPECT_THAT(Left(), ElementsAre("4.1.held", "4.1.run"));
}

TEST_F(HeldRecordsTest, JobsThatCannotBeRemovedAreFoundWithoutRuns) {
  class Stuck final : public env::PosixStorage {
    absl::Status RemoveAll(const std::string& path) override {
      return absl::UnavailableError("remove " + path + ": busy");
    }
  };
  WriteRun(3);
  Stuck stuck;
  const auto jobs = FindHeldJobs(stuck, scratch_.path(), nullptr);
  ASSERT_EQ(jobs.size(), 1u) << "nobody would try again";
  EXPECT_EQ(jobs.at("j").job_id(), "j");
  EXPECT_EQ(jobs.at("j").runs_size(), 0);
}

TEST_F(HeldRecordsTest, JobsWithoutAnyAreRemoved) {
  WriteRun(3);
  EXPECT_FALSE(HasHeldRecords(storage_, paths_.root));
  EXPECT_FALSE(HasHeldRecords(storage_, scratch_.path() + "/jobs/none"));
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(paths_.root));
}

}  // namespace
}  // namespace weir::worker
