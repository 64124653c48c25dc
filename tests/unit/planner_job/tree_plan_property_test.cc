// Properties of plans by reduction trees, of random jobs and clusters: feasible, predicted as
// planned, never below the proven bound, in order where operands have one.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/job/builders/plan_job.h"
#include "planner/job/builders/tree_layer.h"
#include "planner/job/builders/tree_plan.h"
#include "planner/job/job_bound.h"
#include "planner/plan/check_combined.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "tests/unit/planner_job/random_job.h"

namespace weir::planner {
namespace {

bool KeepsOrder(const JobShape& shape) {
  for (const LayerShape& layer : shape.layers) {
    if (layer.element.combines() && layer.element.commutative) return false;
  }
  return true;
}

RC_GTEST_PROP(TreePlanProperty, PlanIsFeasiblePredictedAndAboveTheBound, ()) {
  const RandomJob job = DrawCombinedJob();
  RC_PRE(CanCombine(job.shape));
  const absl::StatusOr<Plan> shuffle =
      PlanJob(job.shape, job.cluster, PlanningOptions{PlanMethod::kEven});
  RC_ASSERT(shuffle.ok());
  const absl::StatusOr<TreePlans> trees = TreePlansOfJob(job.shape, job.cluster, *shuffle);
  RC_LOG() << trees.status() << "\n";
  RC_ASSERT(trees.ok());
  const Plan& plan = trees->plan;
  const absl::Status checked = CheckPlan(plan);
  RC_LOG() << trees->candidates[0].name << ": " << checked << "\n";
  RC_ASSERT(checked.ok());
  const Seconds makespan_s = Predict(plan)->makespan_s;
  RC_ASSERT(std::abs(makespan_s - plan.summary.makespan_s) <= 1e-9 * makespan_s);
  RC_ASSERT(makespan_s == trees->candidates[0].makespan_s);
  RC_ASSERT(CombinedLowerBound(job.shape, job.cluster) <= makespan_s * (1 + 1e-9));
  RC_ASSERT(plan.transfer_order == TransferOrder::kStrict);
  if (KeepsOrder(job.shape)) RC_ASSERT(CheckOperandOrder(plan) == absl::OkStatus());
}

RC_GTEST_PROP(TreePlanProperty, AutoIsNeverWorseThanTheShuffleNorMuchWorseThanTheTree, ()) {
  const RandomJob job = DrawCombinedJob();
  RC_PRE(CanCombine(job.shape));
  const auto makespan_s = [&](CombineChoice choice) {
    PlanningOptions options;
    options.combine = choice;
    const absl::StatusOr<Plan> plan = PlanJob(job.shape, job.cluster, options);
    RC_ASSERT(plan.ok());
    RC_ASSERT(CheckPlan(*plan) == absl::OkStatus());
    return plan->summary.makespan_s;
  };
  const Seconds chosen_s = makespan_s(CombineChoice::kAuto);
  RC_ASSERT(chosen_s <= makespan_s(CombineChoice::kShuffle));
  RC_ASSERT(chosen_s * (1 - kTreeGain) <= makespan_s(CombineChoice::kTree) * (1 + 1e-9));
}

KeyWeights DrawWideBuckets() {
  KeyWeights weights;
  double sum = 0;
  for (int i = 1; i <= 16; ++i) {
    weights.ends.push_back(i / 16.0);
    weights.shares.push_back(*rc::gen::element(0, 1, 1, 2, 5, 40));
    sum += weights.shares.back();
  }
  weights.shares[7] += 1;
  for (double& share : weights.shares) share /= sum + 1;
  return weights;
}

double LargestShare(const KeyWeights& weights, const std::vector<std::int64_t>& borders,
                    std::int64_t places) {
  double largest = 0;
  const auto below = [&](std::int64_t place) {
    return ShareBelow(weights, static_cast<double>(place) / static_cast<double>(places));
  };
  for (std::size_t k = 1; k < borders.size(); ++k) {
    largest = std::max(largest, below(borders[k]) - below(borders[k - 1]));
  }
  return largest;
}

// Segments tile their places, none is empty, and none holds more bytes than the largest of
// segments cut by places would; of whole tables all hold as many.
RC_GTEST_PROP(SegmentProperty, SegmentsOfTablesTakeEqualTimes, ()) {
  LayerShape layer;
  layer.element.kind = ElementShape::Kind::kTable;
  layer.element.places = std::int64_t{1} << 30;
  const auto segments = *rc::gen::inRange<std::size_t>(1, 20);
  const bool whole = *rc::gen::arbitrary<bool>();
  const std::int64_t step = layer.element.places / 16;  // whole buckets: none is cut to an atom
  const IndexRange places{whole ? 0 : step * *rc::gen::inRange(0, 8),
                          whole ? layer.element.places : step * *rc::gen::inRange(8, 16)};
  const std::vector<double> units(segments, 3.0);
  const std::vector<std::int64_t> by_places = SegmentBorders(layer, places, units);
  layer.key_weights = DrawWideBuckets();
  const std::vector<std::int64_t> by_weight = SegmentBorders(layer, places, units);
  RC_ASSERT(by_weight.size() == segments + 1);
  RC_ASSERT(by_weight.front() == places.begin && by_weight.back() == places.end);
  for (std::size_t k = 1; k < by_weight.size(); ++k) RC_ASSERT(by_weight[k] > by_weight[k - 1]);
  const double largest = LargestShare(layer.key_weights, by_weight, layer.element.places);
  RC_ASSERT(largest <=
            LargestShare(layer.key_weights, by_places, layer.element.places) * (1 + 1e-6) + 1e-7);
  const double inside =
      LargestShare(layer.key_weights, {places.begin, places.end}, layer.element.places);
  RC_ASSERT(largest <= inside / static_cast<double>(segments) * (1 + 1e-6) + 1e-7);
  layer.element.kind = ElementShape::Kind::kVector;
  RC_ASSERT(SegmentBorders(layer, places, units) == by_places);
}

}  // namespace
}  // namespace weir::planner
