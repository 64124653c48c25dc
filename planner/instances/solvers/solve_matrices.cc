#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/print_collective.h"
#include "planner/instances/solvers/shared_fields.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/segmented_evaluation.h"
#include "planner/tree/segments/segmented_exact.h"
#include "planner/tree/segments/tree_shapes.h"
#include "planner/tree/single/greedy_tree.h"

namespace weir::planner::tree {

namespace {

constexpr PortModel kLatencyFree{true, true, false};

/// Steps of the evaluation of one matrix that stands in for a search: n * n * m, some 0.1 s.
constexpr double kEvaluationStepsMax = 1e8;

/// n machines, m segments of one unit, and costs of one.
struct MatrixProblem {
  std::int32_t n = 1;
  std::int32_t m = 1;
  LinkCosts costs;
};

absl::StatusOr<MatrixProblem> ReadMatrixProblem(InstanceFields& fields) {
  const MatrixProblem problem{fields.SmallInteger("n"), fields.SmallInteger("m"),
                              ReadLinkCosts(fields)};
  fields.Note(fields.Locate(CheckCount("n", problem.n, 1, kBuiltMachinesMax)));
  fields.Note(fields.Locate(CheckCount("m", problem.m, 1, kMessagesMax)));
  fields.Note(fields.Locate(CheckSegmented(1, {1}, problem.costs)));
  if (!fields.status().ok()) return fields.status();
  return problem;
}

std::vector<double> Units(const MatrixProblem& problem) {
  return std::vector<double>(static_cast<std::size_t>(problem.m), 1.0);
}

// Machines on rows and from 1, as in the source; the matrix is by segment and from 0.
absl::StatusOr<DestinationMatrix> ReadDestinations(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const std::int64_t m = fields.Integer("m");
  const auto rows = fields.IntegerRows("solution_rows");
  if (!fields.status().ok()) return fields.status();
  if (static_cast<std::int64_t>(rows.size()) != n) {
    return fields.Error("solution_rows", absl::StrCat("has ", rows.size(), " rows; n = ", n));
  }
  if (n < 1) return fields.Error("n", "must be at least 1");
  if (absl::Status status = CheckCount("m", m, 1, kMessagesMax); !status.ok())
    return fields.Locate(status);
  DestinationMatrix matrix(static_cast<std::size_t>(m));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::int64_t>(rows[i].size()) != m) {
      return fields.Error("solution_rows",
                          absl::StrCat("row ", i, " has ", rows[i].size(), " entries; m = ", m));
    }
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      if (rows[i][j] < 1 || rows[i][j] > n) {
        return fields.Error("solution_rows", absl::StrCat("row ", i, ", segment ", j, " is ",
                                                          rows[i][j], "; it must lie in 1..", n));
      }
      matrix[j].push_back(static_cast<MachineIndex>(rows[i][j] - 1));
    }
  }
  return matrix;
}

absl::StatusOr<Collective> OfMatrix(const DestinationMatrix& matrix, const LinkCosts& costs,
                                    bool backfill = false) {
  auto schedule =
      backfill ? BackfilledSchedule(matrix, costs) : DestinationsSchedule(matrix, costs);
  if (!schedule.ok()) return schedule.status();
  return Collective{*std::move(schedule), kLatencyFree, {}, kNoTransferLimit, {}};
}

absl::StatusOr<ResultJson> SolveEvaluate(InstanceFields& fields) {
  const LinkCosts costs = ReadLinkCosts(fields);
  const bool backfill = fields.BooleanOr("backfill", false);
  auto matrix = ReadDestinations(fields);
  if (!matrix.ok()) return matrix.status();
  auto makespan_s = EvaluateDestinations(*matrix, costs);
  if (!makespan_s.ok()) return fields.Locate(makespan_s.status());
  ResultJson result = {{"makespan", nullptr}, {"valid", makespan_s->has_value()}};
  if (!makespan_s->has_value()) return result;
  result["makespan"] = **makespan_s;
  if (!backfill) return result;
  auto schedule = BackfilledSchedule(*matrix, costs);
  if (!schedule.ok()) return fields.Locate(schedule.status());
  result["in_order"] = **makespan_s;
  result["makespan"] = schedule->makespan_s;
  return result;
}

absl::StatusOr<Collective> PlanEvaluate(InstanceFields& fields) {
  const LinkCosts costs = ReadLinkCosts(fields);
  const bool backfill = fields.BooleanOr("backfill", false);
  auto matrix = ReadDestinations(fields);
  if (!matrix.ok()) return matrix.status();
  return OfMatrix(*matrix, costs, backfill);
}

// Trees to choose from where not every matrix can be tried.
std::vector<std::vector<Receivers>> KnownTrees(const MatrixProblem& problem) {
  std::vector<std::vector<Receivers>> known = {{StarShape(problem.n)},
                                               {BinomialShape(problem.n)},
                                               {PipelineShape(problem.n)},
                                               {BinaryShape(problem.n)}};
  const ElementCosts element{problem.costs.alpha_s + problem.costs.beta_s_per_unit,
                             problem.costs.gamma_s_per_unit};
  if (auto greedy = GreedyTree(problem.n, element); greedy.ok())
    known.push_back({greedy->receiver});
  auto [first, second] = TwoTreeShapes(problem.n);
  known.push_back({std::move(first), std::move(second)});
  if (problem.n > 2 && problem.n <= 1024) known.push_back(RotatingCentreShapes(problem.n));
  return known;
}

// What no reduction in 001's model goes below: its ports, and the root's own receives.
Seconds LatencyFreeBound(const MatrixProblem& problem) {
  const auto [alpha_s, beta_s, gamma_s] = problem.costs;
  if (problem.n == 1) return 0;
  const Seconds root_s = alpha_s + static_cast<double>(problem.m) * std::max(beta_s, gamma_s) +
                         std::min(beta_s, gamma_s);
  auto ports_s = OverlapLowerBound(problem.n, problem.m, {beta_s, gamma_s});
  return ports_s.ok() ? std::max(root_s, *ports_s) : root_s;
}

absl::Status CheckHeuristicSize(const MatrixProblem& problem) {
  const double steps = 1.0 * problem.n * problem.n * problem.m;
  if (steps <= kEvaluationStepsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("n * n * m is ", steps, "; it must be at most ", kEvaluationStepsMax));
}

// The best matrix made of known trees, segment j taking the j-th in turn.
absl::StatusOr<DestinationMatrix> BestKnownMatrix(const MatrixProblem& problem) {
  if (absl::Status status = CheckHeuristicSize(problem); !status.ok()) return status;
  DestinationMatrix best;
  Seconds best_s = 0;
  for (const auto& trees : KnownTrees(problem)) {
    DestinationMatrix matrix;
    for (std::int32_t j = 0; j < problem.m; ++j) {
      matrix.push_back(trees[static_cast<std::size_t>(j) % trees.size()]);
      matrix.back()[0] = 0;
    }
    auto makespan_s = EvaluateDestinations(matrix, problem.costs);
    if (!makespan_s.ok() || !makespan_s->has_value()) continue;
    if (!best.empty() && **makespan_s >= best_s) continue;
    best = std::move(matrix);
    best_s = **makespan_s;
  }
  return best;
}

absl::StatusOr<ResultJson> SolveFindMin(InstanceFields& fields) {
  auto problem = ReadMatrixProblem(fields);
  if (!problem.ok()) return problem.status();
  auto found = FindMinDestinations(problem->n, problem->m, problem->costs);
  if (found.ok()) {
    ResultJson result = {{"makespan", found->makespan_s}, {"mks", found->makespan_s},
                         {"nb", found->num_tested},       {"valid", found->num_valid},
                         {"min", found->num_optimal},     {"exact", true}};
    if (!found->distinct.empty()) result["distinct"] = found->distinct.size();
    return result;
  }
  auto matrix = BestKnownMatrix(*problem);
  if (!matrix.ok()) return fields.Locate(matrix.status());
  const Seconds makespan_s = **EvaluateDestinations(*matrix, problem->costs);
  ResultJson result = {
      {"makespan", makespan_s}, {"mks", makespan_s}, {"lower_bound", LatencyFreeBound(*problem)}};
  SayHeuristic(found.status(), "the best matrix of known trees is given, without counts", &result);
  return result;
}

absl::StatusOr<Collective> PlanFindMin(InstanceFields& fields) {
  auto problem = ReadMatrixProblem(fields);
  if (!problem.ok()) return problem.status();
  auto found = FindMinDestinations(problem->n, problem->m, problem->costs);
  if (found.ok()) return OfMatrix(found->best, problem->costs);
  auto matrix = BestKnownMatrix(*problem);
  if (!matrix.ok()) return matrix.status();
  return OfMatrix(*matrix, problem->costs);
}

// The best schedule of known trees, and of the round-optimal kind, in any order of segments.
absl::StatusOr<Schedule> BestKnownSchedule(const MatrixProblem& problem) {
  if (absl::Status status = CheckHeuristicSize(problem); !status.ok()) return status;
  std::vector<absl::StatusOr<Schedule>> schedules;
  for (const auto& trees : KnownTrees(problem)) {
    schedules.push_back(
        ListSchedule("known trees", trees, Units(problem), problem.costs, kLatencyFree));
  }
  schedules.push_back(CirculantSchedule(problem.n, Units(problem), problem.costs, kLatencyFree));
  schedules.push_back(InterleavedSchedule(problem.n, Units(problem), problem.costs, kLatencyFree));
  absl::StatusOr<Schedule> best = absl::UnknownError("no schedule");
  for (auto& schedule : schedules) {
    if (!schedule.ok()) return schedule.status();
    if (!best.ok() || schedule->makespan_s < best->makespan_s) best = std::move(schedule);
  }
  return best;
}

absl::StatusOr<ResultJson> SolveExactFifo(InstanceFields& fields) {
  auto problem = ReadMatrixProblem(fields);
  if (!problem.ok()) return problem.status();
  auto found = FindMinDestinations(problem->n, problem->m, problem->costs);
  auto exact = SegmentedExactSearch(problem->n, problem->m, problem->costs);
  ResultJson result;
  if (exact.ok()) {
    result = {{"makespan", exact->makespan_s}};
    if (found.ok()) result["find_min"] = found->makespan_s;
    result["exact"] = true;
    return result;
  }
  auto best = BestKnownSchedule(*problem);
  if (!best.ok()) return fields.Locate(best.status());
  Seconds makespan_s = best->makespan_s;
  if (found.ok()) {
    result["find_min"] = found->makespan_s;
    makespan_s = std::min(makespan_s, found->makespan_s);
  }
  result["makespan"] = makespan_s;
  result["lower_bound"] = LatencyFreeBound(*problem);
  SayHeuristic(exact.status(), "the best schedule of known trees is given", &result);
  return result;
}

absl::StatusOr<Collective> PlanExactFifo(InstanceFields& fields) {
  auto problem = ReadMatrixProblem(fields);
  if (!problem.ok()) return problem.status();
  auto exact = SegmentedExactSearch(problem->n, problem->m, problem->costs);
  if (exact.ok()) return Collective{*std::move(exact), kLatencyFree, {}, kNoTransferLimit, {}};
  auto best = BestKnownSchedule(*problem);
  if (!best.ok()) return best.status();
  auto found = FindMinDestinations(problem->n, problem->m, problem->costs);
  if (found.ok() && found->makespan_s < best->makespan_s) {
    return OfMatrix(found->best, problem->costs);
  }
  return Collective{*std::move(best), kLatencyFree, {}, kNoTransferLimit, {}};
}

absl::StatusOr<Collective> PlanRotatingCentres(InstanceFields& fields) {
  auto problem = ReadMatrixProblem(fields);
  if (!problem.ok()) return problem.status();
  if (absl::Status status = CheckHeuristicSize(*problem); !status.ok()) return status;
  std::vector<Receivers> centres = {StarShape(problem->n)};
  if (problem->n > 2) centres = RotatingCentreShapes(problem->n);
  auto schedule =
      ListSchedule("rotating centres", centres, Units(*problem), problem->costs, kLatencyFree);
  if (!schedule.ok()) return schedule.status();
  return Collective{*std::move(schedule), kLatencyFree, {}, kNoTransferLimit, {}};
}

absl::StatusOr<ResultJson> SolveRotatingCentres(InstanceFields& fields) {
  auto collective = PlanRotatingCentres(fields);
  if (!collective.ok()) {
    return fields.status().ok() ? fields.LocateOnce(collective.status()) : fields.status();
  }
  ResultJson result = PrintCollective(*collective);
  auto problem = ReadMatrixProblem(fields);
  if (!problem.ok()) return problem.status();
  result["lower_bound"] = LatencyFreeBound(*problem);
  return result;
}

}  // namespace

const std::vector<InstanceSolver>& MatrixSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"segmented_evaluate", SolveEvaluate, PlanEvaluate},
      {"segmented_find_min", SolveFindMin, PlanFindMin},
      {"segmented_exact_fifo", SolveExactFifo, PlanExactFifo},
      {"rotating_centres", SolveRotatingCentres, PlanRotatingCentres},
  };
  return solvers;
}

}  // namespace weir::planner::tree
