#include "runtime/master/planning/memory_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::master {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 1 GB that two workers of 64 MiB sort.
PlanRequest Sorting() {
  PlanRequest request;
  request.shape.input_bytes = 1'000'000'000;
  request.shape.map_output_ratio.value = 1;
  request.shape.layers.resize(1);
  request.cluster.workers.resize(2);
  for (planner::WorkerProfile& worker : request.cluster.workers) worker.memory_bytes = 64 << 20;
  return request;
}

TEST(CutByMemory, PairsOfAStepFitIntoHalfOfTheMemory) {
  PlanRequest request = Sorting();
  CutByMemory(request);
  EXPECT_EQ(request.shape.num_mappers, 42);  // 1.4 * 500 MB / 33.5 MB = 20.9 for each of two
  EXPECT_THAT(request.notes, ElementsAre(HasSubstr("21 map steps a worker")));
}

TEST(CutByMemory, TheLeastMemoryCounts) {
  PlanRequest request = Sorting();
  request.cluster.workers[0].memory_bytes = 1 << 30;
  CutByMemory(request);
  EXPECT_EQ(request.shape.num_mappers, 42);
}

TEST(CutByMemory, StepsAreNotTooMany) {
  PlanRequest request = Sorting();
  request.shape.input_bytes = std::int64_t{1} << 50;
  CutByMemory(request);
  EXPECT_EQ(request.shape.num_mappers, 512);
}

TEST(CutByMemory, LeavesAlone) {
  const auto unchanged = [](void (*change)(PlanRequest & request)) {
    PlanRequest request = Sorting();
    change(request);
    const std::int32_t before = request.shape.num_mappers;
    CutByMemory(request);
    EXPECT_TRUE(request.notes.empty());
    return request.shape.num_mappers == before;
  };
  EXPECT_TRUE(unchanged([](PlanRequest& request) { request.shape.num_mappers = 3; }))
      << "asked for";
  EXPECT_TRUE(unchanged([](PlanRequest& request) { request.shape.input_bytes = 40'000'000; }))
      << "fits";
  EXPECT_TRUE(unchanged([](PlanRequest& request) {
    request.shape.layers[0].element.kind = planner::ElementShape::Kind::kTable;
  })) << "combined";
  EXPECT_TRUE(unchanged([](PlanRequest& request) { request.cluster.workers[1].memory_bytes = 0; }))
      << "no limit";
  EXPECT_TRUE(unchanged([](PlanRequest& request) { request.shape.uncut.push_back({}); }))
      << "cannot be cut";
  EXPECT_TRUE(unchanged([](PlanRequest& request) { request.shape.loop.emplace(); })) << "a loop";
}

}  // namespace
}  // namespace weir::master
