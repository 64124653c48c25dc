// Of which runs of a sample is asked what codecs make of them: what trying takes (CodecTrial) is a
// part of what a sample takes.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/master/sample/sample_machine.h"
#include "tests/unit/master/sample_inputs.h"

namespace weir::master {
namespace {

v1::StepResult Done(const v1::StepOrder& order) {
  v1::StepResult result;
  result.set_step(order.step());
  result.set_input_records(1000);
  result.set_output_records(100);
  if (order.consumers().empty()) {
    result.mutable_part()->set_bytes(500);
    return result;
  }
  v1::RunSection& section = *result.mutable_run()->add_sections();
  section.set_consumer_step(order.consumers(0).step());
  section.set_bytes(1000);
  section.set_records(100);
  TryLz4(order, 0.25, *result.mutable_run());
  return result;
}

TEST(SampleCodecsTest, AreTriedOnTheLargestRunOfEachLayer) {
  const auto design = DesignSample(Files({{"/a", 1'000'000'000}}), 1, {});
  ASSERT_TRUE(design.has_value());
  SampleScale scale = OneWorker(2);
  scale.combines = true;
  SampleMachine machine(*design, scale);
  double now_s = 0;
  std::vector<SampleOrder> orders = machine.Begin(now_s);
  std::vector<std::string> tried;
  int rounds = 0;
  for (; !machine.finished(); ++rounds) {
    ASSERT_EQ(orders.size(), 1u);
    const v1::StepOrder order = orders[0].order;
    if (!order.no_codec_trials() && !order.consumers().empty())
      tried.push_back(absl::StrCat(order.label(), " of step ", order.step()));
    now_s += 0.01;
    const auto next = machine.StepDone(Done(order), now_s);
    ASSERT_TRUE(next.ok()) << next.status();
    orders = *next;
  }
  EXPECT_GE(rounds, 7) << "tiny, small and large maps; of each layer a tiny and a large reduce";
  EXPECT_EQ(tried, (std::vector<std::string>{"map 0 of step 2", "reduce 0 of step 6"}));
  const v1::JobShapeLearned shape = machine.Shape();
  for (const v1::JobShapeLearned::Layer& layer : shape.layers()) {
    ASSERT_EQ(layer.codecs_size(), 1);
    EXPECT_DOUBLE_EQ(layer.codecs(0).ratio(), 0.25);
  }
}

}  // namespace
}  // namespace weir::master
