// Upstream: runtime/master. Downstream: one builder a method.

#include "planner/job/plan_job.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "planner/job/check_job.h"
#include "planner/job/even_plan.h"
#include "planner/job/job_notes.h"
#include "planner/job/load_plan.h"

namespace weir::planner {
namespace {

absl::StatusOr<Plan> BuildPlan(const JobShape& shape, const ClusterProfile& cluster,
                               const PlanOptions& options) {
  switch (options.method) {
    case PlanMethod::kLoad:
      return LoadPlan(shape, cluster);
    case PlanMethod::kEven:
      return EvenPlan(shape, cluster);
    case PlanMethod::kFetchAll:
      return FetchAllPlan(shape, cluster, options.fetch_limit);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("PlanOptions.method is unknown: ", static_cast<int>(options.method)));
}

// More at once than any cluster has workers.
constexpr std::int32_t kFetchLimitMax = 1000;

}  // namespace

absl::StatusOr<PlanOptions> ParsePlanMethod(absl::string_view name) {
  PlanOptions options;
  absl::string_view limit = name;
  if (name.empty() || name == "load") return options;
  if (name == "even") {
    options.method = PlanMethod::kEven;
    return options;
  }
  options.method = PlanMethod::kFetchAll;
  if (name == "fetch-all") return options;
  if (absl::ConsumePrefix(&limit, "fetch-") && absl::SimpleAtoi(limit, &options.fetch_limit) &&
      options.fetch_limit >= 1 && options.fetch_limit <= kFetchLimitMax) {
    return options;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown plan method '", name,
      "'; methods are: load, even, fetch-all, fetch-N (from N senders at a time, 1 to ",
      kFetchLimitMax, ")"));
}

absl::StatusOr<Plan> PlanJob(const JobShape& shape, const ClusterProfile& cluster,
                             const PlanOptions& options) {
  absl::Status status = CheckCluster(cluster);
  if (status.ok()) status = CheckJobShape(shape);
  if (!status.ok()) return status;
  absl::StatusOr<Plan> plan = BuildPlan(shape, cluster, options);
  if (!plan.ok()) return plan;
  plan->summary.numbers = JobNumbers(shape, cluster);
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
