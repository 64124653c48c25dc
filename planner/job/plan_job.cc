// Upstream: runtime/master. Downstream: one builder a method.

#include "planner/job/plan_job.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/job/check_job.h"
#include "planner/job/even_plan.h"
#include "planner/job/job_notes.h"
#include "planner/job/load_plan.h"

namespace weir::planner {
namespace {

absl::StatusOr<Plan> BuildPlan(const JobShape& shape, const ClusterProfile& cluster,
                               PlanMethod method) {
  switch (method) {
    case PlanMethod::kLoad:
      return LoadPlan(shape, cluster);
    case PlanMethod::kEven:
      return EvenPlan(shape, cluster);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("PlanOptions.method is unknown: ", static_cast<int>(method)));
}

}  // namespace

absl::StatusOr<Plan> PlanJob(const JobShape& shape, const ClusterProfile& cluster,
                             const PlanOptions& options) {
  absl::Status status = CheckCluster(cluster);
  if (status.ok()) status = CheckJobShape(shape);
  if (!status.ok()) return status;
  absl::StatusOr<Plan> plan = BuildPlan(shape, cluster, options.method);
  if (!plan.ok()) return plan;
  for (std::string& note : JobNotes(shape, cluster, *plan)) {
    plan->summary.notes.push_back(std::move(note));
  }
  if (options.method == PlanMethod::kLoad) {
    for (std::string& note : OneMoreNotes(shape, cluster, *plan)) {
      plan->summary.notes.push_back(std::move(note));
    }
  }
  return plan;
}

}  // namespace weir::planner
