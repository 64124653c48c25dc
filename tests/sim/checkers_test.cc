// Each checker finds what it is there to find: a run that was right, with one fact of it changed.

#include "tests/sim/checkers.h"

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/random_cluster.h"
#include "tests/sim/scenario.h"

namespace weir::sim {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

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

}  // namespace
}  // namespace weir::sim
