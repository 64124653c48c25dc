// Samples whose runs refer to records: sizes are those of the records, what the runs
// hold is a ratio beside them.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runtime/master/sample/map_cost.h"
#include "runtime/master/sample/sample_machine.h"
#include "tests/unit/master/sample_inputs.h"

namespace weir::master {
namespace {

constexpr double kMapSecondsPerByte = 2e-9;
constexpr double kReduceSecondsPerByte = 3e-9;
constexpr double kOverheadS = 1e-3;

// A run of references holds a tenth of the records, which are as many bytes as the input.
v1::StepResult Done(const v1::StepOrder& order, bool refers_to_input) {
  std::int64_t bytes = 0;
  for (const v1::InputRange& range : order.ranges()) bytes += range.end() - range.begin();
  for (const v1::StepInput& input : order.inputs())
    bytes += refers_to_input ? 10 * input.bytes() : input.bytes();
  const bool maps = order.kind() == v1::STEP_KIND_MAP;
  v1::StepResult result;
  result.set_step(order.step());
  result.set_input_records(bytes / 100);
  result.set_output_records(bytes / 100);
  const double seconds =
      kOverheadS + static_cast<double>(bytes) * (maps ? kMapSecondsPerByte : kReduceSecondsPerByte);
  result.set_run_s(seconds);
  result.set_cpu_s(seconds);
  if (!maps) {
    result.mutable_part()->set_bytes(bytes);
    return result;
  }
  v1::RunSection& section = *result.mutable_run()->add_sections();
  section.set_consumer_step(order.consumers(0).step());
  section.set_records(bytes / 100);
  section.set_bytes(refers_to_input ? bytes / 10 : bytes);
  section.set_unpacked_bytes(bytes);
  return result;
}

v1::JobShapeLearned Conclude(bool refers_to_input) {
  const auto design = DesignSample(Files({{"/a", 1'000'000'000}}), 1, 1, {});
  SampleScale scale = OneWorker(1);
  scale.map_overhead_s = kOverheadS;
  scale.reduce_overhead_s = kOverheadS;
  SampleMachine machine(*design, scale);
  EXPECT_EQ(machine.job_input_bytes(), 1e9);
  double now_s = 0;
  std::vector<SampleOrder> orders = machine.Begin(now_s);
  while (!machine.finished()) {
    const v1::StepResult result = Done(orders.at(0).order, refers_to_input);
    now_s += result.run_s();
    const auto next = machine.StepDone(result, now_s);
    EXPECT_TRUE(next.ok()) << next.status();
    if (!next.ok()) break;
    orders = *next;
  }
  return machine.Shape();
}

TEST(SampleReferencesTest, SizesAreThoseOfTheRecords) {
  const v1::JobShapeLearned held = Conclude(false);
  const v1::JobShapeLearned named = Conclude(true);
  EXPECT_NEAR(named.map_output_ratio(), held.map_output_ratio(), 1e-3);
  EXPECT_NEAR(named.map_output_ratio(), 1, 1e-3);
  EXPECT_NEAR(named.layers(0).output_ratio(), 1, 1e-2);
  EXPECT_NEAR(named.layers(0).record_bytes(), 100, 1);
  EXPECT_EQ(held.layers(0).codecs_size(), 0);
  ASSERT_EQ(named.layers(0).codecs_size(), 1);
  EXPECT_EQ(named.layers(0).codecs(0).codec(), v1::CODEC_NONE);
  EXPECT_DOUBLE_EQ(named.layers(0).codecs(0).ratio(), 0.1);
}

TEST(SampleReferencesTest, NothingIsAddedForPairsThatNoCacheHolds) {
  const v1::JobShapeLearned held = Conclude(false);
  const v1::JobShapeLearned named = Conclude(true);
  const double beyond = BeyondCaches(1e7, 1e9);
  ASSERT_GT(beyond, 0);
  EXPECT_NEAR(held.map_seconds_per_byte(), kMapSecondsPerByte + beyond, 3e-11);
  EXPECT_NEAR(named.map_seconds_per_byte(), kMapSecondsPerByte, 3e-11);
  EXPECT_NEAR(held.layers(0).reduce_seconds_per_byte(), kReduceSecondsPerByte + beyond, 6e-11);
  EXPECT_NEAR(named.layers(0).reduce_seconds_per_byte(), kReduceSecondsPerByte, 6e-11);
}

}  // namespace
}  // namespace weir::master
