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

struct Tried {
  std::vector<std::string> steps;
  int rounds = 0;
  v1::JobShapeLearned shape;
};

Tried SampleOfTwoLayers(bool same_host) {
  const auto design = DesignSample(Files({{"/a", 1'000'000'000}}), 1, 1, {});
  SampleScale scale = OneWorker(2);
  scale.combines = true;
  scale.same_host = same_host;
  SampleMachine machine(design.value(), scale);
  Tried tried;
  double now_s = 0;
  std::vector<SampleOrder> orders = machine.Begin(now_s);
  for (; !machine.finished(); ++tried.rounds) {
    const v1::StepOrder order = orders.at(0).order;
    if (!order.no_codec_trials() && !order.consumers().empty())
      tried.steps.push_back(absl::StrCat(order.label(), " of step ", order.step()));
    now_s += 0.01;
    orders = machine.StepDone(Done(order), now_s).value();
  }
  tried.shape = machine.Shape();
  return tried;
}

TEST(SampleCodecsTest, AreTriedOnTheLargestRunOfEachLayer) {
  const Tried tried = SampleOfTwoLayers(/*same_host=*/false);
  EXPECT_GE(tried.rounds, 7) << "tiny, small and large maps; of each layer a tiny and a large "
                                "reduce";
  EXPECT_EQ(tried.steps, (std::vector<std::string>{"map 0 of step 2", "reduce 0 of step 6"}));
  ASSERT_EQ(tried.shape.layers_size(), 2);
  for (const v1::JobShapeLearned::Layer& layer : tried.shape.layers()) {
    ASSERT_EQ(layer.codecs_size(), 1);
    EXPECT_DOUBLE_EQ(layer.codecs(0).ratio(), 0.25);
  }
}

TEST(SampleCodecsTest, AreNotTriedWhereRunsAreHandedOver) {
  const Tried tried = SampleOfTwoLayers(/*same_host=*/true);
  EXPECT_TRUE(tried.steps.empty());
  ASSERT_EQ(tried.shape.layers_size(), 2);
  for (const v1::JobShapeLearned::Layer& layer : tried.shape.layers())
    EXPECT_EQ(layer.codecs_size(), 0);
}

}  // namespace
}  // namespace weir::master
