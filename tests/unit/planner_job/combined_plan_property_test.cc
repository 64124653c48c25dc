// CheckPlan on reduction trees that end in reduce steps: whatever is dropped, doubled or exchanged
// is noticed.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/order/transfer_orders.h"
#include "planner/plan/check_combined.h"
#include "planner/plan/check_plan.h"
#include "planner/tree/choice/operand_order.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/reduce_scatter.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/write/tree_plan.h"

namespace weir::planner {
namespace {

constexpr tree::PortModel kOverlap{true, true, true};

std::int32_t DrawCount(std::int32_t from, std::int32_t to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int32_t>(from, to + 1));
}

tree::Schedule DrawSchedule(std::int32_t p, std::int32_t family) {
  const tree::LinkCosts costs{*rc::gen::element(0.0, 0.5), 1, *rc::gen::element(0.0, 0.25, 2.0)};
  const std::vector<double> units(static_cast<std::size_t>(DrawCount(1, 5)), 1.0);
  const auto size = static_cast<double>(units.size());
  switch (family) {
    case 0:
      return *tree::CirculantSchedule(p, units, costs, kOverlap);
    case 1:
      return *tree::InterleavedSchedule(p, units, costs, kOverlap);
    case 2:
      return *tree::RabenseifnerSchedule(p, size, costs, kOverlap);
    case 3:
      return *tree::ReduceScatterSchedule(p, size, costs, kOverlap);
    case 4:
      return *tree::OrderedPipeline(p, units, costs, kOverlap);
    case 5:
      return *tree::OrderedTwoTree(p, units, costs, kOverlap);
    default:
      return tree::FromTree("greedy tree", *tree::GreedyTree(p, {1, 1}), {1, 1}, size);
  }
}

constexpr int kFamilies = 7;

// A tree of 2 to 9 machines whose root reduces what it holds.
Plan DrawTreePlan(std::int32_t family) {
  const std::int32_t p = DrawCount(2, 9);
  const tree::Schedule schedule = DrawSchedule(p, family);
  const Bytes places = Bytes{840} * static_cast<Bytes>(schedule.segment_units.size());
  Plan plan;
  plan.network.num_workers = p;
  plan.network.seconds_per_byte = 1e-3;
  plan.transfer_order = TransferOrder::kStrict;
  const std::vector<StepIndex> elements = tree::AddElements(p, places, {}, &plan);
  const auto results = tree::AppendReduction(schedule, elements, places, 0, &plan);
  RC_ASSERT(results.ok());
  ComputeStep reduce;
  reduce.kind = StepKind::kReduce;
  reduce.layer = 1;
  reduce.worker = schedule.root;
  reduce.load_fraction = 1;
  reduce.key_end = 1;
  reduce.start_s = schedule.makespan_s * 10 + 1e6;
  reduce.after_steps = *results;
  const auto root = static_cast<StepIndex>(plan.steps.size());
  // What the root's results hold: their sections' ranges, joined.
  const std::size_t num_sections = plan.sections.size();
  for (const StepIndex result : *results) {
    IndexRange held{places, 0};
    for (std::size_t i = 0; i < num_sections; ++i) {
      if (plan.sections[i].consumer != result) continue;
      held.begin = std::min(held.begin, plan.sections[i].indexes->begin);
      held.end = std::max(held.end, plan.sections[i].indexes->end);
    }
    // Later messages took some of it where several runs are the result.
    for (std::size_t i = 0; i < num_sections; ++i) {
      const IndexRange& taken = *plan.sections[i].indexes;
      if (plan.sections[i].producer != result) continue;
      if (taken.begin == held.begin)
        held.begin = taken.end;
      else
        held.end = std::min(held.end, taken.begin);
    }
    plan.sections.push_back({result, root, held.end - held.begin, held});
    reduce.input_bytes += held.end - held.begin;
  }
  plan.steps.push_back(reduce);
  RC_ASSERT(OrderByStart(&plan).ok());
  return plan;
}

RC_GTEST_PROP(CombinedPlanProperty, TreesOfEveryFamilyAreAccepted, ()) {
  const Plan plan = DrawTreePlan(DrawCount(0, kFamilies - 1));
  const absl::Status checked = CheckPlan(plan);
  RC_LOG() << checked << "\n";
  RC_ASSERT(checked.ok());
}

RC_GTEST_PROP(CombinedPlanProperty, OrderedFamiliesKeepTheOrder, ()) {
  const Plan plan = DrawTreePlan(DrawCount(4, 5));
  const absl::Status checked = CheckOperandOrder(plan);
  RC_LOG() << checked << "\n";
  RC_ASSERT(checked.ok());
}

std::size_t DrawSection(const Plan& plan) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, plan.sections.size()));
}

// Of the producer, so that sizes do not give it away.
void AddOutput(Plan& plan, StepIndex step, Bytes bytes) {
  plan.steps[static_cast<std::size_t>(step)].output_bytes += bytes;
}

RC_GTEST_PROP(CombinedPlanProperty, DroppedSectionIsNoticed, ()) {
  Plan plan = DrawTreePlan(DrawCount(0, kFamilies - 1));
  const std::size_t dropped = DrawSection(plan);
  AddOutput(plan, plan.sections[dropped].producer, -plan.sections[dropped].bytes);
  plan.sections.erase(plan.sections.begin() + static_cast<std::ptrdiff_t>(dropped));
  RC_ASSERT(!CheckCombined(plan).ok());
}

RC_GTEST_PROP(CombinedPlanProperty, DoubledSectionIsNoticed, ()) {
  Plan plan = DrawTreePlan(DrawCount(0, kFamilies - 1));
  // The places of one section once more, to another combine or reduce step.
  Section doubled = plan.sections[DrawSection(plan)];
  doubled.consumer = plan.sections[DrawSection(plan)].consumer;
  RC_PRE(doubled.consumer != doubled.producer);
  plan.sections.push_back(doubled);
  AddOutput(plan, doubled.producer, doubled.bytes);
  RC_ASSERT(!CheckCombined(plan).ok());
}

RC_GTEST_PROP(CombinedPlanProperty, ExchangedRangesAreNoticed, ()) {
  Plan plan = DrawTreePlan(DrawCount(0, kFamilies - 1));
  Section& a = plan.sections[DrawSection(plan)];
  Section& b = plan.sections[DrawSection(plan)];
  RC_PRE(!(a.indexes == b.indexes));
  std::swap(a.indexes, b.indexes);
  RC_ASSERT(!CheckCombined(plan).ok());
}

RC_GTEST_PROP(CombinedPlanProperty, ShiftedRangeIsNoticed, ()) {
  Plan plan = DrawTreePlan(DrawCount(0, kFamilies - 1));
  IndexRange& places = *plan.sections[DrawSection(plan)].indexes;
  (*rc::gen::arbitrary<bool>() ? places.begin : places.end) += *rc::gen::element(-1, 1);
  RC_ASSERT(!CheckPlan(plan).ok());
}

RC_GTEST_PROP(CombinedPlanProperty, ExchangedProducersAreNoticed, ()) {
  Plan plan = DrawTreePlan(DrawCount(0, kFamilies - 1));
  Section& a = plan.sections[DrawSection(plan)];
  Section& b = plan.sections[DrawSection(plan)];
  RC_PRE(a.producer != b.producer && a.consumer != b.consumer);
  std::swap(a.producer, b.producer);
  RC_ASSERT(!CheckPlan(plan).ok());
}

}  // namespace
}  // namespace weir::planner
