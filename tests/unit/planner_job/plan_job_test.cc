#include "planner/job/builders/plan_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Two equal workers, 1 s per byte everywhere, one channel: 8 bytes in, 8 bytes out of map.
JobShape SmallShape() {
  JobShape shape;
  shape.job = "wordcount";
  shape.input_bytes = 8;
  shape.map_seconds_per_byte.value = 1;
  shape.map_output_ratio.value = 1;
  LayerShape layer;
  layer.reduce_seconds_per_byte.value = 0.5;
  layer.startup_s.value = 1;
  layer.output_ratio.value = 0.25;
  shape.layers = {layer};
  return shape;
}

ClusterProfile SmallCluster(std::int32_t num_workers, std::int32_t channels) {
  ClusterProfile cluster;
  cluster.workers.resize(static_cast<std::size_t>(num_workers));
  cluster.network = LimitedTotal(num_workers, 1, channels);
  return cluster;
}

absl::StatusOr<Plan> EvenOf(const JobShape& shape, const ClusterProfile& cluster) {
  return PlanJob(shape, cluster, PlanningOptions{PlanMethod::kEven});
}

TEST(PlanJobTest, TwoWorkersByHand) {
  // Maps 0..4; sections of 2 bytes; with one channel the transfers run 4..6 and 6..8; each reducer
  // reads 4 bytes in 1 + 2 s: 6..9 on worker 1 and 8..11 on worker 0.
  const absl::StatusOr<Plan> plan = EvenOf(SmallShape(), SmallCluster(2, 1));
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
  EXPECT_EQ(plan->summary.method, "even");
  EXPECT_EQ(plan->summary.makespan_s, 11);
  EXPECT_EQ(plan->summary.lower_bound_s, 11);
  EXPECT_EQ(plan->transfers.size(), 2u);
  EXPECT_EQ(plan->transfer_order, TransferOrder::kOvertake);
  EXPECT_EQ(plan->steps[2].output_bytes, 1);
}

TEST(PlanJobTest, RotationKeepsEveryPortBusyWithoutACut) {
  // Four workers, 64 bytes: maps 0..16, three rounds of 4 bytes each 16..28, reducers 28..37: the
  // bound exactly.
  JobShape shape = SmallShape();
  shape.input_bytes = 64;
  const Plan plan = *EvenOf(shape, SmallCluster(4, 4));
  EXPECT_EQ(plan.summary.makespan_s, 37);
  EXPECT_EQ(plan.summary.lower_bound_s, 37);
  EXPECT_EQ(plan.transfers.size(), 12u);
}

TEST(PlanJobTest, MappersStartOneAfterTheOther) {
  JobShape shape = SmallShape();
  shape.map_startup_s.value = 3;
  const Plan plan = *EvenOf(shape, SmallCluster(2, 2));
  EXPECT_EQ(plan.steps[0].start_s, 3);
  EXPECT_EQ(plan.steps[1].start_s, 6);
}

TEST(PlanJobTest, MoreMappersThanWorkersShareThem) {
  JobShape shape = SmallShape();
  shape.num_mappers = 5;
  shape.layers[0].num_reducers = 3;
  const Plan plan = *EvenOf(shape, SmallCluster(2, 2));
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_EQ(plan.steps.size(), 8u);
  EXPECT_EQ(plan.compute_order[0], (std::vector<StepIndex>{0, 2, 4, 5, 7}));
  EXPECT_EQ(plan.steps[4].input_end, 8);
}

TEST(PlanJobTest, FasterWorkerFinishesItsEvenChunkEarlier) {
  ClusterProfile cluster = SmallCluster(2, 2);
  cluster.workers[1].compute_rate = 4;
  const Plan plan = *EvenOf(SmallShape(), cluster);
  EXPECT_EQ(plan.steps[0].duration_s, 4);
  EXPECT_EQ(plan.steps[1].duration_s, 1);
  EXPECT_EQ(plan.steps[3].duration_s, 1.5);
}

TEST(PlanJobTest, LayersFollowEachOther) {
  JobShape shape = SmallShape();
  shape.layers.push_back(shape.layers[0]);
  shape.layers[1].num_reducers = 1;
  const Plan plan = *EvenOf(shape, SmallCluster(2, 2));
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  const ComputeStep& last = plan.steps.back();
  EXPECT_EQ(last.layer, 2);
  EXPECT_EQ(last.load_fraction, 1);
  EXPECT_EQ(last.input_bytes, 2);
  EXPECT_EQ(last.after_steps, std::vector<StepIndex>{2});
}

TEST(PlanJobTest, EmptyInputGivesAValidPlan) {
  JobShape shape = SmallShape();
  shape.input_bytes = 0;
  const absl::StatusOr<Plan> plan = EvenOf(shape, SmallCluster(3, 1));
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
  EXPECT_EQ(plan->transfers.size(), 6u);
  EXPECT_EQ(plan->summary.makespan_s, 1);
}

TEST(PlanJobTest, OneWorkerMovesNothing) {
  const Plan plan = *EvenOf(SmallShape(), SmallCluster(1, 1));
  EXPECT_TRUE(plan.transfers.empty());
  EXPECT_EQ(plan.summary.makespan_s, 8 + 1 + 4);
}

struct NoteCase {
  const char* note;
  void (*change)(JobShape&, ClusterProfile&);
};

TEST(PlanJobTest, NotesSayWhatLimits) {
  const NoteCase cases[] = {
      {"Bisection limits: 6 B cross 'total' through 1 channel for 6.00 s of 13.0 s",
       [](JobShape& shape, ClusterProfile& cluster) {
         cluster = SmallCluster(4, 1);
         shape.map_seconds_per_byte.value = 2;
       }},
      {"Map limits:", [](JobShape& s, ClusterProfile&) { s.map_seconds_per_byte.value = 50; }},
      {"Reduce limits:", [](JobShape& s, ClusterProfile&) { s.layers[0].startup_s.value = 50; }},
      {"Channel limits: worker ",
       [](JobShape&, ClusterProfile& c) {
         c = SmallCluster(4, 4);
         c.network.seconds_per_byte = 9;
       }},
      {"75.0 % of the intermediate data stays",
       [](JobShape& s, ClusterProfile&) {
         s.num_mappers = 1;
         s.layers[0].num_reducers = 0;
         s.input_bytes = 8;
         s.layers.push_back(s.layers[0]);
         s.layers[0].num_reducers = 1;
         s.layers[0].output_ratio.value = 1;
       }},
      {"Left out, having neither map nor reduce step: gamma;",
       [](JobShape& s, ClusterProfile& c) {
         c = SmallCluster(3, 1);
         c.workers[2].name = "gamma";
         s.num_mappers = 2;
         s.layers[0].num_reducers = 1;
       }},
      {"no transfer order takes less than 11.0 s", [](JobShape&, ClusterProfile&) {}},
      {"Guessed, not measured: map rate, map output ratio, reduce rate, network rate.",
       [](JobShape&, ClusterProfile&) {}},
  };
  for (const NoteCase& c : cases) {
    JobShape shape = SmallShape();
    ClusterProfile cluster = SmallCluster(2, 1);
    c.change(shape, cluster);
    const absl::StatusOr<Plan> plan = EvenOf(shape, cluster);
    ASSERT_EQ(plan.status(), absl::OkStatus());
    EXPECT_THAT(plan->summary.notes, Contains(HasSubstr(c.note)));
  }
}

struct BadJob {
  const char* message;
  void (*spoil)(JobShape&, ClusterProfile&);
};

void PrintTo(const BadJob& bad, std::ostream* out) { *out << bad.message; }

class BadJobTest : public ::testing::TestWithParam<BadJob> {};

TEST_P(BadJobTest, FieldAndValueAreNamed) {
  JobShape shape = SmallShape();
  ClusterProfile cluster = SmallCluster(2, 1);
  GetParam().spoil(shape, cluster);
  const absl::Status status = EvenOf(shape, cluster).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

const BadJob kBadJobs[] = {
    {"input_bytes out of range: -1", [](JobShape& s, ClusterProfile&) { s.input_bytes = -1; }},
    {"map_seconds_per_byte out of range: 0",
     [](JobShape& s, ClusterProfile&) { s.map_seconds_per_byte.value = 0; }},
    {"map_seconds_per_byte out of range: nan",
     [](JobShape& s, ClusterProfile&) { s.map_seconds_per_byte.value = std::nan(""); }},
    {"map_startup_s out of range: -2",
     [](JobShape& s, ClusterProfile&) { s.map_startup_s.value = -2; }},
    {"map_output_ratio out of range: inf",
     [](JobShape& s, ClusterProfile&) {
       s.map_output_ratio.value = std::numeric_limits<double>::infinity();
     }},
    {"uncut[0] out of range: [0, 9); must be a part of [0, 8)",
     [](JobShape& s, ClusterProfile&) {
       s.uncut = {{0, 9}};
     }},
    {"uncut[1] out of range: [3, 6); must be a part of [4, 8)",
     [](JobShape& s, ClusterProfile&) {
       s.uncut = {{0, 4}, {3, 6}};
     }},
    {"uncut[0] out of range: [2, 2)",
     [](JobShape& s, ClusterProfile&) {
       s.uncut = {{2, 2}};
     }},
    {"num_mappers out of range: -1", [](JobShape& s, ClusterProfile&) { s.num_mappers = -1; }},
    {"layers.size() out of range: 0", [](JobShape& s, ClusterProfile&) { s.layers.clear(); }},
    {"layers[0].num_reducers out of range: 2000000",
     [](JobShape& s, ClusterProfile&) { s.layers[0].num_reducers = 2'000'000; }},
    {"layers[0].reduce_seconds_per_byte out of range: -1",
     [](JobShape& s, ClusterProfile&) { s.layers[0].reduce_seconds_per_byte.value = -1; }},
    {"Too many pairs",
     [](JobShape& s, ClusterProfile&) {
       s.num_mappers = 1'000'000;
       s.layers[0].num_reducers = 1'000;
     }},
    {"map_output_ratio 1e+90",
     [](JobShape& s, ClusterProfile&) { s.map_output_ratio.value = 1e90; }},
    {"outside [0, 1e100]",
     [](JobShape& s, ClusterProfile&) { s.map_seconds_per_byte.value = 1e100; }},
    {"network.num_workers out of range: 5",
     [](JobShape&, ClusterProfile& c) { c.network.num_workers = 5; }},
    {"workers[1] (beta).compute_rate out of range: 0",
     [](JobShape&, ClusterProfile& c) {
       c.workers[1].name = "beta";
       c.workers[1].compute_rate = 0;
     }},
    {"slots out of range: 0", [](JobShape&, ClusterProfile& c) { c.workers[0].slots = 0; }},
    {"channels out of range: 0",
     [](JobShape&, ClusterProfile& c) { c.network.cuts[0].channels = 0; }},
};

INSTANTIATE_TEST_SUITE_P(Fields, BadJobTest, ::testing::ValuesIn(kBadJobs));

TEST(PlanJobTest, NoWorkerIsAPreconditionNotAMistake) {
  const absl::Status status = EvenOf(SmallShape(), ClusterProfile{}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(PlanJobTest, MethodsByName) {
  EXPECT_EQ(ParsePlanMethod("")->method, PlanningOptions().method);
  EXPECT_EQ(ParsePlanMethod("load")->method, PlanMethod::kLoad);
  EXPECT_EQ(ParsePlanMethod("even")->method, PlanMethod::kEven);
  EXPECT_EQ(ParsePlanMethod("rates")->method, PlanMethod::kRates);
  EXPECT_EQ(ParsePlanMethod("rates-over-time")->method, PlanMethod::kRatesOverTime);
  EXPECT_EQ(ParsePlanMethod("fetch-all")->method, PlanMethod::kFetchAll);
  EXPECT_EQ(ParsePlanMethod("fetch-all")->fetch_limit, 0);
  EXPECT_EQ(ParsePlanMethod("lanes")->method, PlanMethod::kLanes);
  EXPECT_EQ(ParsePlanMethod("lanes")->port_lanes, 0);
  EXPECT_EQ(ParsePlanMethod("lanes-4")->method, PlanMethod::kLanes);
  EXPECT_EQ(ParsePlanMethod("lanes-4")->port_lanes, 4);
  EXPECT_EQ(ParsePlanMethod("fetch-5")->method, PlanMethod::kFetchAll);
  EXPECT_EQ(ParsePlanMethod("fetch-5")->fetch_limit, 5);
  for (const char* name : {"magic", "fetch-", "fetch-0", "fetch--1", "fetch-1001", "fetch-5x",
                           "lanes-", "lanes-1", "lanes-65", "lanes-4x", "lanes4"}) {
    const auto unknown = ParsePlanMethod(name);
    EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(unknown.status().message()),
                HasSubstr("load, even, rates, rates-over-time, lanes, lanes-N (N transfers of a "
                          "port at a time, 2 to "
                          "64), fetch-all, fetch-N"));
  }
}

TEST(PlanJobTest, FetchMethodsByHand) {
  JobShape shape = SmallShape();
  shape.input_bytes = 9;
  const ClusterProfile cluster = SmallCluster(3, 3);
  const absl::StatusOr<Plan> all = PlanJob(shape, cluster, *ParsePlanMethod("fetch-all"));
  const absl::StatusOr<Plan> one = PlanJob(shape, cluster, *ParsePlanMethod("fetch-1"));
  ASSERT_TRUE(all.ok() && one.ok());
  EXPECT_EQ(all->summary.method, "fetch-all");
  EXPECT_EQ(all->transfer_order, TransferOrder::kFetchAll);
  EXPECT_EQ(all->fetch_limit, 0);
  EXPECT_EQ(one->summary.method, "fetch-1");
  EXPECT_EQ(one->fetch_limit, 1);
  // Maps end at 3; two sections of 1 byte at half the rate, or one after the other; 2.5 s of
  // reduce.
  EXPECT_NEAR(all->summary.makespan_s, 3 + 2 + 2.5, 1e-9);
  EXPECT_NEAR(one->summary.makespan_s, 3 + 2 + 2.5, 1e-9);
  EXPECT_EQ(all->transfers[0].start_s, all->transfers[3].start_s);
  for (const std::vector<TransferIndex>& order : one->receive_order) {
    EXPECT_NEAR(one->transfers[static_cast<std::size_t>(order[0])].start_s, 3, 1e-9);
    EXPECT_NEAR(one->transfers[static_cast<std::size_t>(order[1])].start_s, 4, 1e-9);
  }
}

// Five workers, 1 byte a second, sections of 5 bytes: four turns with a gap of 2 s.
TEST(PlanJobTest, LaneMethodsByHand) {
  JobShape shape = SmallShape();
  shape.input_bytes = 125'000'000;
  ClusterProfile cluster = SmallCluster(5, 5);
  cluster.network.seconds_per_byte = 1e-6;
  cluster.network.latency_s = 0.1;
  cluster.network.transfer_gap_s = 2;
  shape.map_seconds_per_byte.value = 1e-6;
  EXPECT_THAT(std::string(PlanJob(shape, cluster, *ParsePlanMethod("lanes")).status().message()),
              HasSubstr("Plan method lanes paces every transfer"));
  cluster.network.pacing_fraction = 1;
  const Plan two = *PlanJob(shape, cluster, *ParsePlanMethod("lanes-2"));
  EXPECT_EQ(CheckPlan(two), absl::OkStatus());
  EXPECT_EQ(two.summary.method, "lanes-2");
  EXPECT_EQ(two.port_lanes, 2);
  Seconds moved_s = 0;
  for (const Transfer& t : two.transfers) moved_s = std::max(moved_s, t.start_s + t.duration_s);
  // Maps end at 25; two windows of two sections of 5 s each, with a gap.
  EXPECT_NEAR(moved_s, 25 + 2 * (2 + 10), 1e-3);
  const Plan best = *PlanJob(shape, cluster, *ParsePlanMethod("lanes"));
  EXPECT_EQ(best.summary.method, "lanes");
  EXPECT_EQ(best.port_lanes, 0) << "all at once has no gap";
  EXPECT_LT(best.summary.makespan_s, two.summary.makespan_s);
}

TEST(PlanJobTest, UnknownMethodIsRefused) {
  PlanningOptions options;
  options.method = static_cast<PlanMethod>(99);
  EXPECT_EQ(PlanJob(SmallShape(), SmallCluster(1, 1), options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(OriginNameTest, NamesAllOrigins) {
  EXPECT_STREQ(OriginName(Origin::kDefault), "default");
  EXPECT_STREQ(OriginName(Origin::kFlag), "flag");
  EXPECT_STREQ(OriginName(Origin::kHistory), "history");
  EXPECT_STREQ(OriginName(Origin::kSampled), "sampled");
  EXPECT_STREQ(OriginName(Origin::kMeasured), "measured");
}

}  // namespace
}  // namespace weir::planner
