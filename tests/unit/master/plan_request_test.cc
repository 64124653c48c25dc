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

}  // namespace
}  // namespace weir::master
