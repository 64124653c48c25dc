// Each checker finds what it is there to find: a run that was right, with one fact of it changed.

#include "tests/sim/checkers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/share/port_arbiter.h"
#include "tests/sim/random_cluster.h"
#include "tests/sim/scenario.h"

namespace weir::sim {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CheckersTest : public testing::Test {
 protected:
  CheckersTest() {
    master::MasterOptions options;
    options.latency_s = 4e-4;
    options.network_origin = planner::Origin::kFlag;
    master::NetworkSpec& network = options.network;
    network.channel_bytes_per_s = 1 / options.channel_seconds_per_byte;
    network.cuts = {{"first of all",
                     {master::CutSide::Kind::kRest, {}},
                     {master::CutSide::Kind::kNamed, {WorkerName(0)}},
                     1}};
    SeededRandom draw(3);
    StartRandomCluster(3, options, draw, scenario_);
    v1::JobSpec spec;
    spec.set_job("simjob");
    spec.set_output("/out/checked");
    spec.set_num_reducers(2);
    for (const InputPiece& input : WriteRandomInputs(100'000'000, draw, world())) {
      spec.add_inputs(input.path);
    }
    world().Submit(absl::Seconds(2), std::move(spec));
    scenario_.expectations.all_succeed = true;
    EXPECT_TRUE(world().Run(absl::Hours(1), absl::Seconds(15)));
  }

  World& world() { return *scenario_.world; }
  const std::string& job() { return world().jobs()[0].id; }
  // The attempt that made the first part, and what it made.
  PartKey FirstPart() {
    std::int64_t master_epoch = 0;
    for (const v1::JournalRecord& record : world().journal().records()) {
      if (record.has_master_started()) master_epoch = record.master_started().master_epoch();
      if (!record.has_step_committed()) continue;
      const auto& commit = record.step_committed();
      const PartKey key{master_epoch, commit.plan_epoch(), commit.step(), commit.attempt()};
      if (!world().contents().CommittedParts(job(), {key}).empty()) return key;
    }
    ADD_FAILURE() << "no part was committed";
    return {};
  }
  void ChangeFirstPart(void (*change)(Content&)) {
    const PartKey key = FirstPart();
    Content content = world().contents().CommittedParts(job(), {key});
    change(content);
    world().contents().PutPart(job(), key, 0, content);
  }

  // The first record of the journal for which `is` holds.
  v1::JournalRecord FirstRecord(bool (v1::JournalRecord::*is)() const) {
    const std::vector<v1::JournalRecord>& records = world().journal().records();
    const auto found =
        std::find_if(records.begin(), records.end(), [is](const auto& r) { return (r.*is)(); });
    if (found != records.end()) return *found;
    ADD_FAILURE() << "no such record";
    return {};
  }
  void Append(const v1::JournalRecord& record) {
    ASSERT_TRUE(world().journal().Append({record}).ok());
  }
  // As if a user had handed in a job, or it had begun.
  void AppendAccepted(const std::string& job_id) {
    v1::JournalRecord record;
    record.set_job_id(job_id);
    record.mutable_job_accepted();
    Append(record);
  }
  void AppendBegun(const std::string& job_id) {
    v1::JournalRecord record;
    record.set_job_id(job_id);
    record.mutable_job_state_changed()->set_state(v1::JOB_STATE_PLANNING);
    Append(record);
  }

  // A transfer before the job began, in the first nanoseconds.
  MovedBytes& Move(int sender, int receiver, std::int64_t began, std::int64_t ended) {
    MovedBytes move;
    move.job_id = job();
    move.sender = WorkerName(sender);
    move.receiver = WorkerName(receiver);
    move.began = MonoTime::FromNanos(began);
    move.reported = move.released = MonoTime::FromNanos(ended);
    world().trace().moves.push_back(move);
    return world().trace().moves.back();
  }
  v1::JobStatus& status() { return world().jobs()[0].status; }

  Scenario scenario_;
};

TEST_F(CheckersTest, ARightRunHasNoFindings) { EXPECT_THAT(CheckRun(scenario_), IsEmpty()); }

TEST_F(CheckersTest, InputThatIsMissingIsFound) {
  ChangeFirstPart([](Content& content) { content[0].input[0].end -= 1; });
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("were not made of the whole input")));
}

TEST_F(CheckersTest, InputThatCountsTwiceIsFound) {
  ChangeFirstPart([](Content& content) { content[0].input.push_back(content[0].input.front()); });
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("were not made of the whole input")));
}

TEST_F(CheckersTest, PlacesThatNobodyMadeAreFound) {
  ChangeFirstPart([](Content& content) { content[0].begin += 0.001; });
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("comes")));
}

TEST_F(CheckersTest, TooMuchThroughACutIsFound) {
  MovedBytes move;
  move.job_id = job();
  move.receiver = WorkerName(0);
  move.began = MonoTime::FromNanos(1);
  move.reported = move.released = MonoTime::FromNanos(9);
  for (const int sender : {1, 2}) {
    move.sender = WorkerName(sender);
    world().trace().moves.push_back(move);
  }
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("cut first of all of 1 channels carried 2")));
}

TEST_F(CheckersTest, RatesThatAreTooMuchForAWhileAreFound) {
  const auto port = static_cast<std::int64_t>(world().options().pacing_fraction /
                                              world().options().channel_seconds_per_byte);
  MovedBytes move;
  move.job_id = job();
  move.sender = WorkerName(1);
  move.receiver = WorkerName(2);
  move.concurrent = true;
  move.pacing_bytes_per_s = port;
  move.began = MonoTime::FromNanos(1);
  move.reported = move.released = MonoTime::FromNanos(9);
  move.rate_changes = {{MonoTime::FromNanos(4), port / 2}};
  MovedBytes other = move;
  other.pacing_bytes_per_s = port / 2;
  other.began = MonoTime::FromNanos(4);
  other.rate_changes = {};
  world().trace().moves.push_back(move);
  world().trace().moves.push_back(other);
  EXPECT_THAT(CheckRun(scenario_), IsEmpty()) << "one makes room for the other";
  world().trace().moves.back().began = MonoTime::FromNanos(3);
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("carried rates of")));
  world().trace().moves.back() = other;
  world().trace().moves.back().rate_changes = {{MonoTime::FromNanos(8), port}};
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("carried rates of")));
  world().trace().moves.back().rate_changes = {{MonoTime::FromNanos(9), port}};
  EXPECT_THAT(CheckRun(scenario_), IsEmpty()) << "nothing moves any more";
}

TEST_F(CheckersTest, AJobThatDidNotEndWellIsFound) {
  v1::JobStatus& status = world().jobs()[0].status;
  status.set_state(v1::JOB_STATE_FAILED);
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("without a named error")));
  status.mutable_error()->set_code("WORKER_LOST");
  status.mutable_error()->set_message("worker-0 is lost");
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("ended with WORKER_LOST")));
}

TEST_F(CheckersTest, PiecesOfAJobThatMeetAtAPortAreFound) {
  Move(1, 2, 1, 5);
  Move(1, 3, 5, 9);
  Move(3, 2, 5, 9);
  EXPECT_THAT(CheckRun(scenario_), IsEmpty()) << "one after the other";
  Move(1, 4, 4, 6);
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("send port of worker-1 moved 2 pieces of")));
  world().trace().moves.pop_back();
  Move(4, 2, 8, 9);
  EXPECT_THAT(CheckRun(scenario_),
              Contains(HasSubstr("receive port of worker-2 moved 2 pieces of")));
}

TEST_F(CheckersTest, TooManyJobsAtAPortAreFound) {
  const int jobs = static_cast<int>(master::PortArbiter::kJobsAPort);
  for (int j = 0; j < jobs; ++j) Move(1, 2 + j, 1, 9).job_id = absl::StrCat("other-", j);
  EXPECT_THAT(CheckRun(scenario_), IsEmpty()) << "as many as may";
  Move(1, 2 + jobs, 1, 9).job_id = "one-more";
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("send port of worker-1 moved pieces of")));
}

TEST_F(CheckersTest, WritesThatNobodyOrderedAreFound) {
  UserJob& of_user = world().jobs()[0];
  const auto write = [&](std::int64_t began, std::int64_t ended) {
    world().trace().writes.push_back(
        {job(), 1, MonoTime::FromNanos(began), MonoTime::FromNanos(ended)});
  };
  write(1, 5);
  write(5, 9);
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("ran write steps")));
  of_user.spec.set_write_mode("parallel:1");
  EXPECT_THAT(CheckRun(scenario_), IsEmpty()) << "one after the other";
  write(4, 6);
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("wrote 2 parts at once through 1 channels")));
  ASSERT_EQ(status().parts_size(), 2);
  of_user.spec.set_write_mode("one");
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("has 2 files, not one")));
}

TEST_F(CheckersTest, WhatTheJournalHasTwiceIsFound) {
  Append(FirstRecord(&v1::JournalRecord::has_step_committed));
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("committed twice")));
  Append(FirstRecord(&v1::JournalRecord::has_master_started));
  EXPECT_THAT(CheckRun(scenario_), Contains("a master epoch was used twice"));
  ASSERT_FALSE(world().trace().worker_epochs.empty());
  const std::int64_t epoch = world().trace().worker_epochs.front();
  EXPECT_THAT(CheckRun(scenario_), Not(Contains(HasSubstr("worker epoch"))));
  world().trace().worker_epochs.push_back(epoch);
  EXPECT_THAT(CheckRun(scenario_),
              Contains(absl::StrCat("worker epoch ", epoch, " was used twice")));
}

TEST_F(CheckersTest, ASecondPlanWithoutNeedIsFound) {
  scenario_.expectations.planned_once = true;
  EXPECT_THAT(CheckRun(scenario_), IsEmpty());
  Append(FirstRecord(&v1::JournalRecord::has_job_planned));
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("has two plans of epoch")));
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("though its plan could be edited")));
}

TEST_F(CheckersTest, LossesThatNoPlanKnowsAreFound) {
  status().add_losses()->set_worker(WorkerName(0));
  const std::vector<std::string> findings = CheckRun(scenario_);
  EXPECT_THAT(findings, Contains(HasSubstr("lost 1 workers, and its last plan knows of 0")));
  EXPECT_THAT(findings, Contains(HasSubstr("says nothing of a loss")));
}

TEST_F(CheckersTest, JobsThatPassOthersAreFound) {
  for (const std::string id : {"first", "second", "third"}) AppendAccepted(id);
  AppendBegun("first");
  AppendBegun("third");
  EXPECT_THAT(CheckRun(scenario_), IsEmpty()) << "the second may have been cancelled";
  AppendBegun("second");
  EXPECT_THAT(CheckRun(scenario_), Contains("second began out of its turn"));
}

TEST_F(CheckersTest, OutputsThatAreNotWhatTheStatusSaysAreFound) {
  ASSERT_GT(status().parts_size(), 0);
  v1::OutputPart& part = *status().mutable_parts(0);
  part.set_bytes(part.bytes() + 1);
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("is not what the status says")));
  part.set_bytes(part.bytes() - 1);
  EXPECT_THAT(CheckRun(scenario_), IsEmpty());
  ASSERT_TRUE(world().storage().WriteSized("/out/checked.weir-staging", 1).ok());
  EXPECT_THAT(CheckRun(scenario_), Contains("left behind: /out/checked.weir-staging"));
  scenario_.expectations.staging_may_stay = true;
  EXPECT_THAT(CheckRun(scenario_), IsEmpty());
  ASSERT_TRUE(world().storage().RemoveAll("/out/checked").ok());
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("but its output is missing")));
}

TEST_F(CheckersTest, BytesThatWereNotReadAreFound) {
  ASSERT_GT(status().counters_size(), 0);
  v1::Counter& read = *status().mutable_counters(0);
  read.set_value(read.value() - 1);
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr(absl::StrCat(" read ", read.value()))));
}

TEST_F(CheckersTest, TimesFarFromThePredictedAreFound) {
  scenario_.expectations.as_predicted = true;
  status().set_predicted_makespan_s(4 * status().actual_makespan_s() + 1);
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("s, predicted were")));
  EXPECT_EQ(CountPredictions(scenario_).far, 1);
}

TEST_F(CheckersTest, AnEndForWantOfWorkersThatAreThereIsFound) {
  status().set_state(v1::JOB_STATE_FAILED);
  status().mutable_error()->set_code(std::string(job_error::kNoWorkers));
  status().mutable_error()->set_message("nobody is left");
  status().add_losses()->set_worker("worker-9");
  const std::vector<std::string> findings = CheckRun(scenario_);
  EXPECT_THAT(findings, Contains(HasSubstr("ended for want of workers, and there are some")));
  EXPECT_THAT(findings, Contains(HasSubstr("does not name worker-9")));
}

TEST_F(CheckersTest, AnEndThatComesLateIsFound) {
  UserJob& of_user = world().jobs()[0];
  of_user.status.set_state(v1::JOB_STATE_FAILED);
  scenario_.expectations.fatal_moments = {of_user.ended};
  of_user.ended = of_user.ended + scenario_.expectations.ending_limit;
  EXPECT_THAT(CheckRun(scenario_), Not(Contains(HasSubstr("after the loss of its workers"))));
  of_user.ended = of_user.ended + absl::Nanoseconds(1);
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("after the loss of its workers")));
}

TEST_F(CheckersTest, WhatAWorkerStillHoldsIsFound) {
  std::string jobs;
  for (const std::string& path : world().disks().Paths()) {
    if (absl::EndsWith(path, "/jobs")) jobs = path;
  }
  ASSERT_NE(jobs, "");
  ASSERT_TRUE(world().disks().MakeDirectory(jobs + "/j-left").ok());
  EXPECT_THAT(CheckRun(scenario_), Contains(HasSubstr("still holds j-left")));
}

TEST_F(CheckersTest, MapsThatAreDoneAgainAfterARestartAreFound) {
  // The job had not ended when another master planned it anew, as if nothing of it had been done.
  std::vector<v1::JournalRecord> records = world().journal().records();
  std::erase_if(records, [&](const v1::JournalRecord& record) {
    return record.job_id() != job() || record.has_job_ended();
  });
  v1::JournalRecord started = FirstRecord(&v1::JournalRecord::has_master_started);
  v1::JournalRecord planned = FirstRecord(&v1::JournalRecord::has_job_planned);
  started.mutable_master_started()->set_master_epoch(1000);
  planned.mutable_job_planned()->set_plan_epoch(1000);
  ASSERT_TRUE(world().journal().Forget({job()}).ok());
  for (const v1::JournalRecord& record : records) Append(record);
  scenario_.expectations.maps_are_kept = true;
  EXPECT_THAT(CheckRun(scenario_), IsEmpty());
  Append(started);
  planned.mutable_job_planned()->set_resumed(true);
  Append(planned);
  EXPECT_THAT(CheckRun(scenario_), Not(Contains(HasSubstr("maps were done again"))));
  planned.mutable_job_planned()->set_resumed(false);
  Append(started);
  Append(planned);
  EXPECT_THAT(CheckRun(scenario_),
              Contains(HasSubstr("maps were done again after a restart of the master")));
}

}  // namespace
}  // namespace weir::sim
