#include "planner/job/step_spill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>

#include "planner/job/builders/plan_job.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

double Same(double bytes) { return bytes; }

TEST(FilesOfSlot, FollowTheRuleOfTheEngine) {
  // What fits is not put on disk at all; what does not is, to the last byte.
  EXPECT_EQ(FilesOfSlot(10, {10, 10}, Same).bytes(), 0);
  EXPECT_EQ(FilesOfSlot(11, {10, 10}, Same).first_bytes, 11);
  // 15 files stay as they are; the 16th has all become one.
  EXPECT_EQ(FilesOfSlot(150, {10, 10}, Same).merged_bytes, 0);
  EXPECT_EQ(FilesOfSlot(151, {10, 10}, Same).merged_bytes, 151);
  EXPECT_EQ(FilesOfSlot(315, {10, 10}, Same).merged_bytes, 315);
  // 16 files of 16: each byte is there three times.
  const SlotFiles many = FilesOfSlot(2560, {10, 10}, Same);
  EXPECT_EQ(many.first_bytes, 2560);
  EXPECT_EQ(many.merged_bytes, 2 * 2560);
  // Less room once something is there.
  EXPECT_EQ(FilesOfSlot(100, {60, 10}, [](double bytes) { return std::sqrt(bytes); }).first_bytes,
            std::sqrt(60.0) + 4 * std::sqrt(10.0));
}

// What SlotSpills does, file by file.
SlotFiles ByHand(double load, double room) {
  SlotFiles files;
  if (load <= room) return files;
  std::vector<std::pair<int, double>> kept;  // level, size
  while (load > 0) {
    const double one = std::min(load, room);
    load -= one;
    files.first_bytes += one;
    kept.emplace_back(0, one);
    while (kept.size() >= 16 && kept[kept.size() - 16].first == kept.back().first) {
      double together = 0;
      const int level = kept.back().first;
      for (int i = 0; i < 16; ++i, kept.pop_back()) together += kept.back().second;
      files.merged_bytes += together;
      kept.emplace_back(level + 1, together);
    }
  }
  return files;
}

RC_GTEST_PROP(FilesOfSlotProperty, AreThoseMadeOneByOne, ()) {
  const auto room = static_cast<double>(*rc::gen::inRange(1, 50));
  const auto load = static_cast<double>(*rc::gen::inRange(0, 60'000));
  const SlotFiles said = FilesOfSlot(load, {room, room}, Same);
  const SlotFiles made = ByHand(load, room);
  RC_ASSERT(std::abs(said.first_bytes - made.first_bytes) < 1e-6);
  RC_ASSERT(std::abs(said.merged_bytes - made.merged_bytes) < 1e-6);
}

JobShape DrawShape() {
  JobShape shape;
  shape.input_bytes = *rc::gen::inRange<std::int64_t>(1 << 20, std::int64_t{1} << 40);
  shape.map_output_ratio = {0.01 * *rc::gen::inRange(1, 300), Origin::kSampled};
  shape.map_seconds_per_byte = {1e-9, Origin::kSampled};
  shape.layers.resize(*rc::gen::inRange<std::size_t>(1, 3));
  for (LayerShape& layer : shape.layers) {
    layer.record_bytes = {static_cast<double>(*rc::gen::inRange(0, 200)), Origin::kSampled};
    layer.output_ratio = {1, Origin::kSampled};
    layer.reduce_seconds_per_byte = {1e-9, Origin::kSampled};
    if (*rc::gen::arbitrary<bool>()) layer.element.kind = ElementShape::Kind::kTable;
    layer.element.places = 1;
  }
  // Only keys that are combined meet.
  const bool combines = shape.layers[0].element.kind == ElementShape::Kind::kTable;
  if (combines && *rc::gen::arbitrary<bool>()) {
    shape.map_output_growth = {0.01 * *rc::gen::inRange(10, 101), Origin::kSampled};
    shape.map_output_at_bytes = shape.input_bytes;
  }
  return shape;
}

ClusterProfile Cluster(std::int32_t slots, Bytes spill_above) {
  ClusterProfile cluster;
  cluster.workers.resize(1);
  cluster.workers[0].slots = slots;
  cluster.workers[0].spill_above_bytes = spill_above;
  cluster.network.num_workers = 1;
  return cluster;
}

RC_GTEST_PROP(StepSpillProperty, GrowsWithBytesAndIsNothingWhereAllFits, ()) {
  const JobShape shape = DrawShape();
  const auto slots = *rc::gen::inRange(1, 5);
  ClusterProfile cluster = Cluster(slots, *rc::gen::inRange(1 << 20, 1 << 30));
  cluster.workers[0].disk = {1e8, 2e8, 1e6 * *rc::gen::inRange(0, 1000)};
  const auto less = static_cast<double>(*rc::gen::inRange<std::int64_t>(0, shape.input_bytes));
  const auto more =
      static_cast<double>(*rc::gen::inRange(static_cast<std::int64_t>(less), shape.input_bytes));
  const std::size_t layer = shape.layers.size() - 1;
  const double inputs = *rc::gen::inRange(1, 40);
  const auto check = [&](const StepSpill& of_less, const StepSpill& of_more) {
    RC_ASSERT(of_less.bytes >= 0 && of_less.seconds >= 0);
    // Records in place are a matter of proportion, which does not change; files merged in a batch
    // of 16 jump by less than is written at all.
    RC_ASSERT(of_more.bytes >= of_less.bytes * (1 - 1e-6) - 1);
  };
  check(MapSpill(shape, cluster, 0, less), MapSpill(shape, cluster, 0, more));
  check(ReduceSpill(shape, layer, cluster, 0, less, inputs),
        ReduceSpill(shape, layer, cluster, 0, more, inputs));
  cluster.workers[0].spill_above_bytes = Bytes{1} << 56;
  RC_ASSERT(MapSpill(shape, cluster, 0, more).bytes == 0);
  RC_ASSERT(MapSpill(shape, cluster, 0, more).seconds == 0);
  RC_ASSERT(ReduceSpill(shape, layer, cluster, 0, more, inputs).bytes == 0);
  cluster.workers[0].spill_above_bytes = 0;  // not known
  RC_ASSERT(MapSpill(shape, cluster, 0, more).bytes == 0);
  RC_ASSERT(ReduceSpill(shape, layer, cluster, 0, more, inputs).bytes == 0);
}

// Pairs do not meet: of whatever curve, the first files are all that the mapper makes.
RC_GTEST_PROP(StepSpillProperty, AllPairsAreOnDiskOnce, ()) {
  JobShape shape = DrawShape();
  shape.layers[0].element.kind = ElementShape::Kind::kNone;
  shape.layers[0].record_bytes = {50, Origin::kSampled};
  shape.map_output_growth = {0.01 * *rc::gen::inRange(10, 101), Origin::kSampled};
  shape.map_output_at_bytes = shape.input_bytes;
  const ClusterProfile cluster = Cluster(1, *rc::gen::inRange(1 << 20, 1 << 24));
  const auto input = static_cast<double>(
      *rc::gen::inRange<std::int64_t>(shape.input_bytes / 2, shape.input_bytes));
  const double made = PartOutputBytes(shape, input);
  RC_PRE(made > 1 << 26);
  const double bytes = MapSpill(shape, cluster, 0, input).bytes;
  const double blocks = std::ceil(input / (1 << 20));
  if (blocks < 2) return;
  const double levels = 1 + std::floor(std::log(std::max(blocks, made / (1 << 10))) / std::log(16));
  RC_ASSERT(bytes >= made * (1 - 1e-9) || bytes == 0);
  RC_ASSERT(bytes <= made * levels * (1 + 1e-9));
}

// Of the first files: those into which 16 are merged are as large as memory makes them.
RC_GTEST_PROP(StepSpillProperty, MoreMemoryNeverPutsMoreOnDiskFirst, ()) {
  const double power = 0.01 * *rc::gen::inRange(10, 101);
  const auto bytes_of = [power](double load) { return std::pow(load, power); };
  const auto load = static_cast<double>(*rc::gen::inRange(1, 1'000'000));
  const auto room = static_cast<double>(*rc::gen::inRange(1, 1000));
  const auto larger = room + *rc::gen::inRange(0, 1000);
  const SlotFiles of_room = FilesOfSlot(load, {room, room}, bytes_of);
  const SlotFiles of_larger = FilesOfSlot(load, {larger, larger}, bytes_of);
  RC_ASSERT(of_larger.first_bytes <= of_room.first_bytes * (1 + 1e-9));
}

// 4 GB of words on two workers of two slots.
JobShape Words() {
  JobShape shape;
  shape.job = "wordcount";
  shape.input_bytes = 4'000'000'000;
  shape.map_seconds_per_byte = {5e-9, Origin::kSampled};
  shape.map_output_ratio = {0.2, Origin::kSampled};
  shape.map_output_growth = {0.8, Origin::kSampled};
  shape.map_output_at_bytes = 2'000'000'000;
  shape.layers.resize(1);
  shape.layers[0].reduce_seconds_per_byte = {10e-9, Origin::kSampled};
  shape.layers[0].record_bytes = {14, Origin::kSampled};
  shape.layers[0].element.kind = ElementShape::Kind::kTable;
  shape.layers[0].element.places = 1 << 20;
  return shape;
}

ClusterProfile TwoWorkers(Bytes spill_above) {
  ClusterProfile cluster;
  cluster.workers.resize(2);
  for (WorkerProfile& worker : cluster.workers) {
    worker.slots = 2;
    worker.spill_above_bytes = spill_above;
  }
  cluster.workers[0].name = "left";
  cluster.workers[1].name = "right";
  cluster.network.num_workers = 2;
  cluster.network.seconds_per_byte = 1e-9;
  return cluster;
}

TEST(PlanWithSpills, SaysThemAndTakesThemIntoItsTimes) {
  const auto with_enough = PlanJob(Words(), TwoWorkers(0), {});
  const auto with_little = PlanJob(Words(), TwoWorkers(64 << 20), {});
  ASSERT_TRUE(with_enough.ok() && with_little.ok());
  ASSERT_TRUE(CheckPlan(*with_little).ok()) << CheckPlan(*with_little);
  Seconds longest_s = 0;
  for (const ComputeStep& step : with_little->steps) {
    EXPECT_GT(step.spilled_bytes, step.output_bytes / 2);
    EXPECT_GT(step.spill_s, 0);
    EXPECT_LT(step.spill_s, step.duration_s);
    longest_s = std::max(longest_s, step.spill_s);
  }
  EXPECT_GT(Predict(*with_little)->makespan_s, Predict(*with_enough)->makespan_s + longest_s);
  EXPECT_THAT(with_little->summary.notes, Contains(HasSubstr("each of 2 map steps puts")));
  EXPECT_THAT(with_enough->summary.notes, Not(Contains(HasSubstr("Memory does not hold all"))));
  for (const ComputeStep& step : with_enough->steps) EXPECT_EQ(step.spilled_bytes, 0);
}

TEST(PlanWithSpills, NamesTheWorkerThatHasLessMemory) {
  ClusterProfile cluster = TwoWorkers(0);
  cluster.workers[1].spill_above_bytes = 64 << 20;
  JobShape shape = Words();
  shape.num_mappers = shape.layers[0].num_reducers = 2;
  const auto plan = PlanJob(shape, cluster, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->summary.notes, Contains(HasSubstr("1 of 2 map steps puts on worker right")));
  // It is slower by that, and gets less.
  Bytes of_left = 0;
  Bytes of_right = 0;
  for (const ComputeStep& step : plan->steps) {
    if (!step.kind->reads_input()) continue;
    (step.worker == 0 ? of_left : of_right) += step.input_bytes;
  }
  EXPECT_GE(of_left, of_right);
}

TEST(StepSpill, IsNotGuessed) {
  JobShape shape = Words();
  shape.map_output_ratio.origin = Origin::kDefault;
  EXPECT_EQ(MapSpill(shape, TwoWorkers(64 << 20), 0, 2e9).bytes, 0);
}

TEST(StepSpill, IsOfBytesThatAreNotPacked) {
  JobShape packed = Words();
  packed.map_output_ratio.value *= 0.25;
  packed.layers[0].stored_ratio = 0.25;
  const ClusterProfile cluster = TwoWorkers(64 << 20);
  EXPECT_NEAR(MapSpill(packed, cluster, 0, 2e9).bytes, MapSpill(Words(), cluster, 0, 2e9).bytes, 1);
  EXPECT_NEAR(ReduceSpill(packed, 0, cluster, 0, 1e8, 2).bytes,
              ReduceSpill(Words(), 0, cluster, 0, 4e8, 2).bytes, 1);
}

TEST(StepSpill, WaitsForADiskThatIsSlowerThanTheStep) {
  ClusterProfile cluster = TwoWorkers(64 << 20);
  const StepSpill without = MapSpill(Words(), cluster, 0, 2e9);
  cluster.workers[0].disk = {1e9, 1e9, 0};  // done while the step computes
  EXPECT_EQ(MapSpill(Words(), cluster, 0, 2e9).seconds, without.seconds);
  cluster.workers[0].disk = {1e7, 1e7, 0};
  EXPECT_NEAR(MapSpill(Words(), cluster, 0, 2e9).seconds + 2e9 * 5e-9, 2 * without.bytes / 1e7,
              1e-6);
  cluster.workers[0].disk.cached_bytes = without.bytes;
  EXPECT_EQ(MapSpill(Words(), cluster, 0, 2e9).seconds, without.seconds);
}

}  // namespace
}  // namespace weir::planner
