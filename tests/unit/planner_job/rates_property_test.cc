// Properties of every plan by rates: feasible by CheckPlan and by a sweep that knows nothing of it,
// predicted as a naive simulation has it, and no later than need be.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "planner/job/builders/plan_job.h"
#include "planner/order/order_bound.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "tests/unit/planner_job/random_job.h"
#include "tests/unit/planner_job/rated_shuffles.h"

namespace weir::planner {
namespace {

RC_GTEST_PROP(RatesProperty, AnyPlanIsFeasibleBoundedAndConfirmed, ()) {
  const RandomJob job = DrawJob(JobKind::kAny);
  absl::StatusOr<Plan> plan = PlanJob(job.shape, job.cluster, PlanningOptions{PlanMethod::kEven});
  RC_ASSERT(plan.ok());
  RC_SUCCEED_IF(job.cluster.network.seconds_per_byte == 0);
  // Ports of these networks may carry a byte a second.
  const absl::Status rated = OrderRestByRates(0, &*plan);
  RC_LOG() << rated << "\n";
  RC_ASSERT(rated.ok());
  const absl::Status checked = CheckPlan(*plan);
  RC_LOG() << checked << "\n";
  RC_ASSERT(checked.ok());
  ExpectRatesFit(*plan);
  const Prediction prediction = *Predict(*plan);
  RC_ASSERT(std::abs(prediction.makespan_s - plan->summary.makespan_s) <=
            1e-9 * prediction.makespan_s);
  RC_ASSERT(*OrderBound(*plan) <= prediction.makespan_s * (1 + 1e-9));
}

RC_GTEST_PROP(RatesProperty, NaiveSimulationAgrees, ()) {
  Plan plan = DrawShuffle([] { return *rc::gen::element(0.5, 1.0, 1.7); }, 4);
  RC_ASSERT(OrderByRates(&plan).ok());
  ExpectNaiveSimulationAgrees(std::move(plan));
}

RC_GTEST_PROP(RatesProperty, OneWaveEndsWhenTheBusiestPortOrCutCan, ()) {
  Plan plan = DrawShuffle([] { return 1.0; });
  RC_ASSERT(OrderByRates(&plan).ok());
  Seconds busiest_s = 0;
  for (std::size_t r = 0; r < NumResources(plan); ++r) {
    double bytes = 0;
    for (const Transfer& transfer : plan.transfers) {
      if (Uses(plan, transfer, r)) bytes += static_cast<double>(transfer.bytes);
    }
    busiest_s = std::max(busiest_s, bytes / Carries(plan, r));
  }
  const Seconds least_s = 1.0 + plan.network.latency_s + busiest_s + 0.25;
  RC_ASSERT(std::abs(plan.summary.makespan_s - least_s) <= 1e-9 * least_s);
}

/// Whether transfers that begin at their releases and all end at `end_s` fit ports and cuts.
bool AllFitUntil(const Plan& plan, Seconds end_s) {
  for (std::size_t r = 0; r < NumResources(plan); ++r) {
    double together = 0;
    for (const Transfer& transfer : plan.transfers) {
      if (!Uses(plan, transfer, r)) continue;
      const Seconds ready_s = plan.steps[At(transfer.producer)].duration_s;
      const Seconds flows_s = end_s - ready_s - plan.network.latency_s;
      if (flows_s <= 0) return false;
      together += static_cast<double>(transfer.bytes) / flows_s;
    }
    if (together > Carries(plan, r)) return false;
  }
  return true;
}

RC_GTEST_PROP(RatesProperty, WavesEndTogetherAsEarlyAsConstantRatesCan, ()) {
  Plan plan = DrawShuffle([] { return *rc::gen::element(0.5, 1.0, 1.7); });
  RC_ASSERT(OrderByRates(&plan).ok());
  const Seconds end_s = plan.summary.makespan_s - 0.25;
  for (const Transfer& transfer : plan.transfers) {
    RC_ASSERT(std::abs(transfer.start_s + transfer.duration_s - end_s) <= 1e-9 * end_s);
  }
  RC_ASSERT(AllFitUntil(plan, end_s * (1 + 1e-9)));
  RC_ASSERT(!AllFitUntil(plan, end_s * (1 - 1e-6)));
}

RC_GTEST_PROP(RatesProperty, NoRatesOfAGridAreBetterForOneWave, ()) {
  Plan plan = DrawShuffle([] { return 1.0; }, 2);
  RC_ASSERT(OrderByRates(&plan).ok());
  const Seconds rated_s = plan.summary.makespan_s;
  RC_ASSERT(plan.transfers.size() == 2u);
  Plan other = plan;
  for (int a = 1; a <= 12; ++a) {
    for (int b = 1; b <= 12; ++b) {
      const int of_twelve[] = {a, b};
      for (std::size_t t = 0; t < 2; ++t) {
        Transfer& transfer = other.transfers[t];
        const double most =
            std::min(Carries(plan, At(transfer.sender)), Carries(plan, At(2 + transfer.receiver)));
        transfer.rate_bytes_per_s = most * of_twelve[t] / 12;
      }
      RC_ASSERT(AdoptPrediction(&other).ok());
      RC_ASSERT(other.summary.makespan_s >= rated_s * (1 - 1e-9));
    }
  }
}

}  // namespace
}  // namespace weir::planner
