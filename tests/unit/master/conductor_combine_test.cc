// Combine steps through the conductor and its orders: operands in the order of the plan, one step
// at a time on a worker.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "runtime/master/conduct/order_builder.h"
#include "tests/unit/base/moment.h"
#include "tests/unit/master/planned_sections.h"

namespace weir::master {
namespace {

using planner::StepIndex;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr StepIndex kMap0 = 0;
constexpr StepIndex kMap1 = 1;
constexpr StepIndex kMapLate = 2;  // on worker 1, behind map 1
constexpr StepIndex kCombine = 3;  // on worker 1
constexpr StepIndex kReduce = 4;   // on worker 1

/// Map 0 on worker 0 sends 100 places to worker 1, which folds them into those of map 1 and
/// reduces. The operands: `operands`, left to right.
planner::Plan OneMessage(const std::vector<StepIndex>& operands, bool late_map) {
  planner::Plan plan;
  plan.network.num_workers = 2;
  plan.network.seconds_per_byte = 1e-2;
  plan.transfer_order = planner::TransferOrder::kStrict;
  const auto add = [&plan](planner::StepKind kind, int layer, int index, int worker) {
    planner::ComputeStep step;
    step.kind = kind;
    step.layer = layer;
    step.index_in_layer = index;
    step.worker = worker;
    step.duration_s = 1;
    step.output_bytes = 100;
    plan.steps.push_back(step);
  };
  add(planner::StepKind::kMap, 0, 0, 0);
  add(planner::StepKind::kMap, 0, 1, 1);
  add(planner::StepKind::kMap, 0, 2, 1);
  add(planner::StepKind::kCombine, 1, 0, 1);
  add(planner::StepKind::kReduce, 1, 0, 1);
  for (int map = 0; map < 3; ++map) {
    planner::ComputeStep& step = plan.steps[static_cast<std::size_t>(map)];
    step.input_begin = 10 * map;
    step.input_end = 10 * (map + 1);
    step.input_bytes = 10;
  }
  plan.steps[kMapLate].duration_s = late_map ? 9 : 0;
  for (const StepIndex operand : operands) {
    plan.sections.push_back({operand, kCombine, 100, planner::IndexRange{0, 100}});
  }
  plan.sections.push_back({kMapLate, kReduce, 100});
  plan.sections.push_back({kCombine, kReduce, 100, planner::IndexRange{0, 100}});
  plan.steps[kCombine].after_steps = {kMap1};
  plan.steps[kCombine].after_transfers = {0};
  plan.steps[kCombine].input_bytes = 200;
  plan.steps[kReduce].after_steps = {kCombine, kMapLate};
  plan.steps[kReduce].input_bytes = 200;
  plan.steps[kReduce].load_fraction = 1;
  plan.steps[kReduce].key_end = 1;
  planner::Transfer transfer;
  transfer.producer = kMap0;
  transfer.consumer = kCombine;
  transfer.receiver = 1;
  transfer.bytes = 100;
  plan.transfers.push_back(transfer);
  plan.compute_order = {{kMap0}, {kMap1, kMapLate, kCombine, kReduce}};
  plan.send_order = {{0}, {}};
  plan.receive_order = {{}, {0}};
  const auto predicted = planner::Predict(plan);
  EXPECT_TRUE(predicted.ok()) << predicted.status();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    plan.steps[i].start_s = predicted->steps[i].start_s;
  }
  plan.transfers[0].start_s = predicted->transfers[0].start_s;
  plan.transfers[0].duration_s = 1;
  plan.summary.makespan_s = predicted->makespan_s;
  const absl::Status holds = planner::CheckPlan(plan);
  EXPECT_TRUE(holds.ok()) << holds;
  return plan;
}

class Conducted {
 public:
  explicit Conducted(planner::Plan plan)
      : plan_(std::move(plan)),
        prediction_(*planner::Predict(plan_)),
        conductor_(plan_, prediction_, {"", ""}) {
    Take(conductor_.Begin(Moment(0)));
  }

  void StepDone(StepIndex step, double at_s) {
    ConductorOrders orders;
    EXPECT_TRUE(conductor_.StepDone(step, PlannedSections(plan_, step), Moment(at_s), orders).ok());
    Take(orders);
  }
  void TransferDone(planner::TransferIndex transfer, double at_s) {
    ConductorOrders orders;
    EXPECT_TRUE(conductor_.TransferDone(transfer, Moment(at_s), orders).ok());
    Take(orders);
  }

  /// Steps started since the last call.
  std::vector<StepIndex> TakeStarted() { return std::exchange(started_, {}); }
  /// Producers of the last step started.
  const std::vector<StepIndex>& inputs() const { return inputs_; }

 private:
  void Take(const ConductorOrders& orders) {
    for (const StepStart& start : orders.steps) {
      started_.push_back(start.step);
      inputs_.clear();
      for (const StepStart::Input& input : start.inputs) inputs_.push_back(input.producer);
    }
  }

  const planner::Plan plan_;
  const planner::Prediction prediction_;
  ConductorMachine conductor_;
  std::vector<StepIndex> started_;
  std::vector<StepIndex> inputs_;
};

TEST(ConductorCombine, OperandsKeepTheOrderOfThePlanAndReducersThatOfTheirProducers) {
  for (const std::vector<StepIndex>& operands :
       {std::vector<StepIndex>{kMap0, kMap1}, std::vector<StepIndex>{kMap1, kMap0}}) {
    Conducted run(OneMessage(operands, /*late_map=*/false));
    run.StepDone(kMap0, 1);
    run.StepDone(kMap1, 1);
    run.StepDone(kMapLate, 1);
    run.TakeStarted();
    run.TransferDone(0, 2);
    EXPECT_THAT(run.TakeStarted(), ElementsAre(kCombine));
    EXPECT_EQ(run.inputs(), operands);
    run.StepDone(kCombine, 3);
    EXPECT_THAT(run.TakeStarted(), ElementsAre(kReduce));
    EXPECT_THAT(run.inputs(), ElementsAre(kMapLate, kCombine));
  }
}

TEST(ConductorCombine, AWorkerRunsOneStepAtATimeWhateverItsKind) {
  Conducted run(OneMessage({kMap0, kMap1}, /*late_map=*/true));
  EXPECT_THAT(run.TakeStarted(), ElementsAre(kMap0, kMap1));
  run.StepDone(kMap0, 1);
  run.StepDone(kMap1, 1);
  EXPECT_THAT(run.TakeStarted(), ElementsAre(kMapLate));
  run.TransferDone(0, 2);
  EXPECT_THAT(run.TakeStarted(), IsEmpty()) << "the task has a step";
  run.StepDone(kMapLate, 10);
  EXPECT_THAT(run.TakeStarted(), ElementsAre(kCombine));
}

TEST(ConductorCombine, OfTwoReadyStepsTheOnePlannedFirstGoesFirst) {
  Conducted run(OneMessage({kMap0, kMap1}, /*late_map=*/true));
  run.StepDone(kMap0, 1);
  run.TransferDone(0, 2);
  run.TakeStarted();
  run.StepDone(kMap1, 3);
  EXPECT_THAT(run.TakeStarted(), ElementsAre(kMapLate))
      << "planned at 1 s, the combine step at 2 s";
}

TEST(ConductorCombine, OrdersNameConsumersByRisingPlacesEmptyRangesFirst) {
  planner::Plan plan = OneMessage({kMap0, kMap1}, false);
  // Numbers within the layer go against the places.
  plan.sections.insert(plan.sections.begin(), {kMap1, kReduce, 0, planner::IndexRange{100, 100}});
  planner::ComputeStep more = plan.steps[kCombine];
  more.index_in_layer = 1;
  more.after_transfers.clear();
  plan.steps.push_back(more);
  plan.sections.insert(plan.sections.begin(), {kMap1, 5, 0, planner::IndexRange{0, 0}});
  const InputRanges input{{{{"/a", 30}}, 30}};
  const std::vector<RegisteredWorker> workers(2);
  const PublishedRuns runs;
  const OrderBuilder builder(plan, input, workers, OutputPlaces("/out", "j-1"), 1, {}, runs);
  const v1::StepOrder order = builder.BuildStep(StepStart{kMap1});
  ASSERT_EQ(order.consumers_size(), 3);
  EXPECT_EQ(order.consumers(0).step(), 5);
  EXPECT_EQ(order.consumers(1).step(), kCombine);
  EXPECT_EQ(order.consumers(1).indexes().end(), 100);
  EXPECT_EQ(order.consumers(2).step(), kReduce);
  const v1::StepOrder combine = builder.BuildStep(StepStart{kCombine});
  EXPECT_EQ(combine.kind(), v1::STEP_KIND_COMBINE);
  EXPECT_EQ(combine.layer(), 1);
}

}  // namespace
}  // namespace weir::master
