#include "absl/strings/str_cat.h"
#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/shared_fields.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/single/release_dates.h"
#include "planner/tree/single/release_exact.h"

namespace weir::planner::tree {

namespace {

struct ReleaseProblem {
  std::vector<Seconds> release;
  ElementCosts costs;
  std::int64_t limit = kNoTransferLimit;
};

absl::StatusOr<ReleaseProblem> ReadReleaseProblem(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  ReleaseProblem problem{fields.Numbers("release"), ReadElementCosts(fields),
                         fields.IntegerOr("K", kNoTransferLimit)};
  if (!fields.status().ok()) return fields.status();
  if (static_cast<std::int64_t>(problem.release.size()) != n) {
    return fields.Error("release",
                        absl::StrCat("has ", problem.release.size(), " entries; n = ", n));
  }
  return problem;
}

absl::StatusOr<ResultJson> SolveReleaseDates(InstanceFields& fields) {
  auto problem = ReadReleaseProblem(fields);
  if (!problem.ok()) return problem.status();
  auto tree = ReleaseDateTree(problem->release, problem->costs, problem->limit);
  if (!tree.ok()) return fields.Locate(tree.status());
  auto bound_s = ReleaseLowerBound(problem->release, problem->costs, problem->limit);
  if (!bound_s.ok()) return fields.Locate(bound_s.status());
  ResultJson result;
  auto optimum_s = ExactReleaseLength(problem->release, problem->costs, problem->limit);
  if (optimum_s.ok()) result["optimum"] = *optimum_s;
  result["lower_bound"] = *bound_s;
  result["greedy_at_most"] = tree->makespan_s;
  result["makespan"] = tree->makespan_s;
  result["exact"] = true;
  if (!optimum_s.ok()) {
    SayHeuristic(optimum_s.status(), "the reversed greedy and its lower bound are given", &result);
  }
  return result;
}

absl::StatusOr<Collective> PlanReleaseDates(InstanceFields& fields) {
  auto problem = ReadReleaseProblem(fields);
  if (!problem.ok()) return problem.status();
  auto tree = ReleaseDateTree(problem->release, problem->costs, problem->limit);
  if (!tree.ok()) return tree.status();
  Collective collective;
  collective.reduction = FromTree("reversed greedy", *tree, problem->costs, 1);
  collective.ready_s = problem->release;
  collective.max_transfers = problem->limit;
  return collective;
}

}  // namespace

const std::vector<InstanceSolver>& ReleaseSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"release_dates_strict", SolveReleaseDates, PlanReleaseDates},
  };
  return solvers;
}

}  // namespace weir::planner::tree
