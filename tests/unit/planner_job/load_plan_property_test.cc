// Properties of every plan by divisible load, on random jobs and clusters.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "planner/job/builders/even_plan.h"
#include "planner/job/builders/plan_job.h"
#include "planner/job/job_bound.h"
#include "planner/job/packed_shape.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "tests/unit/planner_job/random_job.h"
#include "tests/unit/planner_plan/cut_rates.h"

namespace weir::planner {
namespace {

RC_GTEST_PROP(LoadPlanProperty, FeasibleBoundedAndNeverWorseThanEven, ()) {
  const RandomJob job = DrawJob(JobKind::kAny);
  const absl::StatusOr<Plan> plan = PlanJob(job.shape, job.cluster, PlanningOptions{});
  RC_ASSERT(plan.ok());
  RC_ASSERT(CheckPlan(*plan) == absl::OkStatus());
  const absl::StatusOr<Prediction> prediction = Predict(*plan);
  RC_ASSERT(prediction.ok());
  RC_ASSERT(std::abs(prediction->makespan_s - plan->summary.makespan_s) <=
            1e-9 * plan->summary.makespan_s);
  const std::vector<double> most = MostAcrossCuts(*plan, PlannedTransfers(*plan));
  for (std::size_t cut = 0; cut < most.size(); ++cut) {
    RC_ASSERT(most[cut] <= plan->network.cuts[cut].channels * (1 + 1e-6));
  }
  const absl::StatusOr<Plan> even = EvenPlan(job.shape, job.cluster);
  RC_ASSERT(plan->summary.makespan_s <= even->summary.makespan_s);
  const JobShape packed = PackedShape(job.shape, job.cluster, plan->run_codec);
  const Seconds bound_s = JobLowerBound(packed, job.cluster);
  RC_ASSERT(bound_s <= plan->summary.makespan_s * (1 + 1e-9));
}

RC_GTEST_PROP(LoadPlanProperty, AnyCodecThatIsAskedForIsFeasibleAndBounded, ()) {
  RandomJob job = DrawJob(JobKind::kAny);
  job.shape.codec = *rc::gen::element(Codec::kNone, Codec::kLz4, Codec::kZstd);
  const absl::StatusOr<Plan> plan = PlanJob(job.shape, job.cluster, PlanningOptions{});
  RC_ASSERT(plan.ok());
  RC_ASSERT(CheckPlan(*plan) == absl::OkStatus());
  RC_ASSERT(plan->run_codec.size() ==
            (*job.shape.codec == Codec::kNone ? 0 : job.shape.layers.size()));
  const JobShape packed = PackedShape(job.shape, job.cluster, plan->run_codec);
  RC_ASSERT(JobLowerBound(packed, job.cluster) <= plan->summary.makespan_s * (1 + 1e-9));
}

}  // namespace
}  // namespace weir::planner
