// Maps that wait for the disk of the input, by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "planner/job/builders/even_plan.h"
#include "planner/job/builders/load_plan.h"
#include "planner/job/builders/one_more_notes.h"
#include "planner/job/builders/plan_job.h"
#include "planner/job/check_job.h"
#include "planner/job/job_drafts.h"
#include "planner/plan/check_plan.h"

namespace weir::planner {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kOverheadS = 0.25;

// 1 GB, of which a worker maps a byte in 1 ns; what is left to reduce is little.
JobShape ShapeOf(double disk_seconds_per_byte) {
  JobShape shape;
  shape.job = "terasort";
  shape.input_bytes = 1'000'000'000;
  shape.map_seconds_per_byte.value = 1e-9;
  shape.map_overhead_s.value = kOverheadS;
  shape.map_output_ratio.value = 0.1;
  shape.input_disk_seconds_per_byte = disk_seconds_per_byte;
  LayerShape layer;
  layer.reduce_seconds_per_byte.value = 1e-10;
  layer.output_ratio.value = 1;
  shape.layers = {layer};
  return shape;
}

ClusterProfile ClusterOf(std::int32_t num_workers) {
  ClusterProfile cluster;
  cluster.workers.resize(static_cast<std::size_t>(num_workers));
  cluster.network = LimitedTotal(num_workers, 1e-10, num_workers);
  return cluster;
}

std::vector<Seconds> MapSeconds(const JobShape& shape, std::int32_t num_workers) {
  const absl::StatusOr<Plan> plan = EvenPlan(shape, ClusterOf(num_workers));
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<Seconds> seconds;
  for (const ComputeStep& step : plan->steps) {
    if (step.kind == StepKind::kMap) seconds.push_back(step.duration_s);
  }
  return seconds;
}

TEST(InputDiskTest, MapsAreNotDoneSoonerThanTheDiskHasRead) {
  // Two mappers compute half a second each.
  EXPECT_THAT(MapSeconds(ShapeOf(3e-9), 2), Each(DoubleNear(kOverheadS + 3, 1e-9)))
      << "the disk reads 1 GB, whoever wants it";
  EXPECT_THAT(MapSeconds(ShapeOf(4e-10), 2), Each(DoubleNear(kOverheadS + 0.5, 1e-9)))
      << "the disk reads for 0.4 s, meanwhile";
  EXPECT_THAT(MapSeconds(ShapeOf(4e-10), 4), Each(DoubleNear(kOverheadS + 0.4, 1e-9)))
      << "four compute for a quarter of a second";
}

TEST(InputDiskTest, WhatIsNotKnownOrShorterChangesNoBit) {
  JobShape shape = ShapeOf(0);
  shape.map_seconds_per_byte.value = 1.1e-9;
  const std::vector<Seconds> without = MapSeconds(shape, 3);
  EXPECT_EQ(without.size(), 3u);
  shape.input_disk_seconds_per_byte = 1e-12;
  EXPECT_EQ(MapSeconds(shape, 3), without);
}

TEST(InputDiskTest, StepsOfOneWorkerReadInTurn) {
  JobShape shape = ShapeOf(3e-9);
  shape.num_mappers = 1;
  EXPECT_THAT(MapSeconds(shape, 2), ElementsAre(DoubleNear(kOverheadS + 3, 1e-9)));
  shape.num_mappers = 4;
  const std::vector<Seconds> four = MapSeconds(shape, 2);
  EXPECT_EQ(four.size(), 4u);
  EXPECT_THAT(four, Each(DoubleNear(kOverheadS + 1.5, 1e-9))) << "two at a time";
}

TEST(InputDiskTest, WhoReadsMoreHasTheDiskAloneInTheEnd) {
  // All read 100 MB, which takes 2 s for two of them; then the first one 200 MB more in 2 s.
  const std::vector<double> bytes = {3e8, 1e8, 0};
  EXPECT_THAT(InputDiskSeconds(ShapeOf(1e-8), bytes),
              ElementsAre(DoubleNear(4, 1e-9), DoubleNear(2, 1e-9), 0));
  EXPECT_THAT(InputDiskSeconds(ShapeOf(0), bytes), ElementsAre(0, 0, 0));
}

TEST(InputDiskTest, LoadsOfWorkersOfOtherSpeedsHoldAndStayAboveTheBound) {
  ClusterProfile cluster = ClusterOf(3);
  cluster.workers[0].compute_rate = 2;
  const absl::StatusOr<Plan> plan = LoadPlan(ShapeOf(5e-9), cluster);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
  EXPECT_GE(plan->summary.makespan_s, kOverheadS + 5 - 1e-6);
  const absl::StatusOr<Plan> without = LoadPlan(ShapeOf(0), cluster);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_NEAR(plan->summary.lower_bound_s, without->summary.lower_bound_s, 1e-9)
      << "bounds know of no disk";
}

TEST(InputDiskTest, PlansSayWhenTheDiskLimitsTheMaps) {
  const ClusterProfile cluster = ClusterOf(2);
  const auto disk = Field(&PlanNumber::name, "input disk time");
  const std::string by_disk = "Map limits: the disk of the input is read for 3.25 s of ";
  const std::string by_workers = "more or faster workers help";
  const auto plan_of = [&](double seconds_per_byte) {
    const absl::StatusOr<Plan> plan =
        PlanJob(ShapeOf(seconds_per_byte), cluster, PlanningOptions{PlanMethod::kEven});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *plan;
  };
  const Plan slow = plan_of(3e-9);
  EXPECT_THAT(slow.summary.numbers, Contains(disk));
  EXPECT_THAT(slow.summary.notes, Contains(HasSubstr(by_disk)));
  EXPECT_THAT(slow.summary.notes, Not(Contains(HasSubstr(by_workers))));
  const Plan fast = plan_of(4e-10);
  EXPECT_THAT(fast.summary.numbers, Contains(disk));
  EXPECT_THAT(fast.summary.notes, Contains(HasSubstr(by_workers)));
  EXPECT_THAT(plan_of(0).summary.numbers, Not(Contains(disk)));
}

TEST(InputDiskTest, OneMoreMapperWouldReadNothingSooner) {
  JobShape shape = ShapeOf(0);
  shape.num_mappers = 2;
  const ClusterProfile cluster = ClusterOf(4);
  const auto note_of = [&] {
    const absl::StatusOr<Plan> plan = LoadPlan(shape, cluster);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return OneMoreNotes(shape, cluster, *plan);
  };
  EXPECT_THAT(note_of(), ElementsAre(HasSubstr("one more mapper would save")));
  shape.input_disk_seconds_per_byte = 3e-9;
  EXPECT_THAT(note_of(), ElementsAre(HasSubstr("one more mapper would change nothing")));
}

TEST(InputDiskTest, NegativeTimesAreRefused) {
  EXPECT_EQ(CheckJobShape(ShapeOf(0)), absl::OkStatus());
  EXPECT_THAT(std::string(CheckJobShape(ShapeOf(-1e-9)).message()),
              HasSubstr("input_disk_seconds_per_byte"));
}

}  // namespace
}  // namespace weir::planner
