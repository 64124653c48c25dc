#include "runtime/master/planning/plan_request.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace weir::master {
namespace {

JobInfo Info() {
  JobInfo info;
  info.name = "simjob";
  info.rates.map_seconds_per_byte = 1e-9;
  return info;
}

double MapRate(std::int64_t files, std::int64_t bytes, int mappers) {
  InputList input;
  for (std::int64_t i = 0; i < files; ++i) {
    input.files.push_back({"/in/" + std::to_string(i), bytes / files, {}});
  }
  input.total_bytes = bytes;
  v1::JobSpec spec;
  spec.set_num_mappers(mappers);
  RegisteredWorker worker;
  worker.identity.set_name("w");
  worker.identity.set_control_endpoint("h:1");
  worker.identity.set_data_endpoint("h:2");
  const PlanRequest request =
      MakePlanRequest(spec, Info(), input, {worker}, {}, MasterOptions(), {});
  return request.shape.map_seconds_per_byte.value;
}

TEST(PlanRequestTest, FilesThatMappersOpenFurtherTakeTheirTime) {
  EXPECT_DOUBLE_EQ(MapRate(1, 1'000'000, 2), 1e-9);
  EXPECT_DOUBLE_EQ(MapRate(200, 1'000'000, 2), 1e-9) << "in what a step takes at any size";
  EXPECT_DOUBLE_EQ(MapRate(1200, 1'200'000, 2), 1e-9 + 1000 * kFurtherFileSeconds / 1'200'000);
  EXPECT_DOUBLE_EQ(MapRate(1000, 0, 2), 1e-9) << "of no bytes there is no rate";
}

TEST(PlanRequestTest, AJobsOwnGrowthHoldsForItsChunks) {
  JobInfo info = Info();
  info.rates.map_output_ratio = 0.4;
  info.rates.output_growth = {.at_bytes = 1e6, .power = 0.5, .seconds_per_output_byte = 1e-8};
  InputList input;
  input.files.push_back({"/in/0", 8'000'000, {}});
  input.total_bytes = 8'000'000;
  v1::JobSpec spec;
  spec.set_num_mappers(2);
  RegisteredWorker worker;
  worker.identity.set_name("w");
  worker.identity.set_control_endpoint("h:1");
  worker.identity.set_data_endpoint("h:2");
  const planner::JobShape shape =
      MakePlanRequest(spec, info, input, {worker}, {}, MasterOptions(), {}).shape;
  // A chunk of 4 MB makes twice as much as one of 1 MB.
  EXPECT_NEAR(planner::MapOutputBytes(shape, 4e6), 2 * 0.4e6, 1);
  EXPECT_NEAR(shape.map_seconds_per_byte.value, 1e-9 + 0.2 * 1e-8, 1e-15);
  EXPECT_EQ(shape.map_output_growth.origin, planner::Origin::kDefault);
}

TEST(PlanRequestTest, OnlyLargeOutputThatNoRunToldOfIsWorthAMeasurement) {
  planner::JobShape shape;
  shape.input_bytes = 64'000'000;
  shape.map_output_ratio = {1, planner::Origin::kSampled};
  shape.layers.resize(1);
  shape.layers[0].output_ratio.value = 0.6;
  EXPECT_TRUE(MayWaitForOutput(shape, 2)) << "38.4 MB";
  planner::JobShape other = shape;
  other.layers[0].output_ratio.value = 0.4;
  EXPECT_FALSE(MayWaitForOutput(other, 2)) << "25.6 MB";
  other = shape;
  other.map_output_ratio.origin = planner::Origin::kDefault;
  EXPECT_FALSE(MayWaitForOutput(other, 2)) << "a guess";
  other = shape;
  other.layers[0].reduce_seconds_per_byte.origin = planner::Origin::kHistory;
  EXPECT_FALSE(MayWaitForOutput(other, 2)) << "runs took what the disk took";
  other = shape;
  other.loop.emplace();
  EXPECT_FALSE(MayWaitForOutput(other, 2));
  other = shape;
  other.layers.clear();
  EXPECT_FALSE(MayWaitForOutput(other, 2));
}

}  // namespace
}  // namespace weir::master
