#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/instances/instance_solvers.h"
#include "planner/tree/bidirectional_greedy.h"
#include "planner/tree/circulant.h"
#include "planner/tree/segment_sizes.h"
#include "planner/tree/segmented_evaluation.h"
#include "planner/tree/segmented_exact.h"
#include "planner/tree/unidirectional_greedy.h"

namespace weir::planner::tree {

namespace {

/// Largest p * q for which the bidirectional greedy is run beside the round-optimal schedule.
constexpr std::int64_t kShownGreedyCells = 1 << 14;

LinkCosts ReadCosts(InstanceFields& fields) {
  return {fields.Number("alpha"), fields.Number("beta"), fields.Number("gamma")};
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
  if (m < 1) return fields.Error("m", "must be at least 1");
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

absl::StatusOr<ResultJson> SolveEvaluate(InstanceFields& fields) {
  const LinkCosts costs = ReadCosts(fields);
  auto matrix = ReadDestinations(fields);
  if (!matrix.ok()) return matrix.status();
  auto makespan_s = EvaluateDestinations(*matrix, costs);
  if (!makespan_s.ok()) return fields.Locate(makespan_s.status());
  ResultJson result = {{"makespan", nullptr}, {"valid", makespan_s->has_value()}};
  if (makespan_s->has_value()) result["makespan"] = **makespan_s;
  return result;
}

absl::StatusOr<ResultJson> SolveFindMin(InstanceFields& fields) {
  const std::int32_t n = fields.SmallInteger("n");
  const std::int32_t m = fields.SmallInteger("m");
  const LinkCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  auto found = FindMinDestinations(n, m, costs);
  if (!found.ok()) return fields.Locate(found.status());
  ResultJson result = {{"makespan", found->makespan_s},
                       {"mks", found->makespan_s},
                       {"nb", found->num_tested},
                       {"valid", found->num_valid},
                       {"min", found->num_optimal}};
  if (!found->distinct.empty()) result["distinct"] = found->distinct.size();
  return result;
}

absl::StatusOr<ResultJson> SolveExactFifo(InstanceFields& fields) {
  const std::int32_t n = fields.SmallInteger("n");
  const std::int32_t m = fields.SmallInteger("m");
  const LinkCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  auto exact = SegmentedExactSearch(n, m, costs);
  if (!exact.ok()) return fields.Locate(exact.status());
  auto found = FindMinDestinations(n, m, costs);
  if (!found.ok()) return fields.Locate(found.status());
  return ResultJson{{"makespan", exact->makespan_s}, {"find_min", found->makespan_s}};
}

absl::StatusOr<ResultJson> SolveUnidirectional(InstanceFields& fields) {
  const std::int64_t p = fields.Integer("p");
  const std::vector<double> segments = fields.Numbers("segments");
  const LinkCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  auto length_s = UnidirectionalGreedyLength(p, segments, costs);
  if (!length_s.ok()) return fields.Locate(length_s.status());
  return ResultJson{{"makespan", *length_s}};
}

absl::StatusOr<ResultJson> SolveNonuniform(InstanceFields& fields) {
  const std::int64_t p = fields.Integer("p");
  const std::int64_t m = fields.Integer("m");
  const LinkCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  auto best = BestNonuniform(p, m, costs);
  if (!best.ok()) return fields.Locate(best.status());
  ResultJson argmin = ResultJson::array();
  for (const auto& sizes : best->best_sizes) {
    ResultJson row = ResultJson::array();
    for (double size : sizes) row.push_back(static_cast<std::int64_t>(size));
    argmin.push_back(std::move(row));
  }
  return ResultJson{{"best_uniform", best->best_uniform_s},
                    {"best", best->best_s},
                    {"argmin", std::move(argmin)}};
}

absl::StatusOr<ResultJson> SolveRoundOptimal(InstanceFields& fields) {
  const std::int32_t p = fields.SmallInteger("p");
  const std::int32_t q = fields.SmallInteger("q");
  const LinkCosts costs{0, fields.Number("t_comm"), fields.Number("t_comp")};
  if (!fields.status().ok()) return fields.status();
  if (q < 1) return fields.Error("q", absl::StrCat("is ", q, "; it must be at least 1"));
  auto schedule = CirculantSchedule(p, std::vector<double>(static_cast<std::size_t>(q), 1.0), costs,
                                    {true, false, true});
  if (!schedule.ok()) return fields.Locate(schedule.status());
  ResultJson result = {{"makespan", schedule->makespan_s},
                       {"rounds", CirculantRounds(p, q).size()}};
  // The greedy has the same length; it is shown where it takes no time.
  if (std::int64_t{p} * q > kShownGreedyCells) return result;
  auto greedy = BidirectionalGreedySchedule(p, schedule->segment_units, costs);
  if (!greedy.ok()) return fields.Locate(greedy.status());
  result["greedy"] = greedy->makespan_s;
  return result;
}

absl::StatusOr<ResultJson> SolveOverlap(InstanceFields& fields) {
  const std::int32_t p = fields.SmallInteger("p");
  const std::int32_t q = fields.SmallInteger("q");
  const LinkCosts costs{0, fields.Number("d"), fields.Number("c")};
  if (!fields.status().ok()) return fields.status();
  if (q < 1) return fields.Error("q", absl::StrCat("is ", q, "; it must be at least 1"));
  const std::vector<double> units(static_cast<std::size_t>(q), 1.0);
  const PortModel ports{true, true, true};
  auto rounds = CirculantSchedule(p, units, costs, ports);
  if (!rounds.ok()) return fields.Locate(rounds.status());
  auto interleaved = InterleavedSchedule(p, units, costs, ports);
  if (!interleaved.ok()) return fields.Locate(interleaved.status());
  auto bound_s = OverlapLowerBound(p, q, {costs.beta_s_per_unit, costs.gamma_s_per_unit});
  if (!bound_s.ok()) return fields.Locate(bound_s.status());
  const Seconds achievable_s = std::min(rounds->makespan_s, interleaved->makespan_s);
  ResultJson result = {{"lower_bound", *bound_s},
                       {"round_order", rounds->makespan_s},
                       {"interleaved", interleaved->makespan_s},
                       {"achievable", achievable_s},
                       {"makespan", achievable_s}};
  // One segment needs no schedule of rounds: the greedy tree meets the bound.
  if (q == 1) result["makespan"] = *bound_s;
  if ((std::int64_t{p} - 1) * q > 8) return result;
  auto exact = SegmentedExactSearch(p, q, costs);
  if (!exact.ok())
    return result;  // beyond the states of the search: the field is only for tiny instances
  result["optimum_fifo"] = exact->makespan_s;
  result["makespan"] = std::min(result["makespan"].get<double>(), exact->makespan_s);
  return result;
}

}  // namespace

const std::vector<InstanceSolver>& SegmentedSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"segmented_evaluate", SolveEvaluate},
      {"segmented_find_min", SolveFindMin},
      {"segmented_exact_fifo", SolveExactFifo},
      {"langou_unidirectional_greedy", SolveUnidirectional},
      {"langou_nonuniform", SolveNonuniform},
      {"bidirectional_round_optimal", SolveRoundOptimal},
      {"overlap_segmented_bidirectional", SolveOverlap},
  };
  return solvers;
}

}  // namespace weir::planner::tree
