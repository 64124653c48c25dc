#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/print_collective.h"
#include "planner/instances/solvers/shared_fields.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/segments/bidirectional_greedy.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/segment_sizes.h"
#include "planner/tree/segments/segmented_exact.h"
#include "planner/tree/segments/unidirectional_greedy.h"
#include "planner/tree/single/greedy_tree.h"

namespace weir::planner::tree {

namespace {

constexpr PortModel kHalfDuplex{false, false, true};
constexpr PortModel kFullDuplex{true, false, true};
constexpr PortModel kOverlap{true, true, true};

/// Largest p * q for which the bidirectional greedy is run beside the round-optimal schedule.
constexpr std::int64_t kShownGreedyCells = 1 << 14;

/// Most segments of a searched segment count.
constexpr std::int64_t kSearchedSegmentsMax = 1 << 16;

absl::StatusOr<Collective> OfSchedule(absl::StatusOr<Schedule> schedule, PortModel ports) {
  if (!schedule.ok()) return schedule.status();
  return Collective{*std::move(schedule), ports, {}, kNoTransferLimit, {}};
}

absl::StatusOr<ResultJson> SolveUnidirectional(InstanceFields& fields) {
  const std::int64_t p = fields.Integer("p");
  const std::vector<double> segments = ReadSegments(fields);
  const LinkCosts costs = ReadLinkCosts(fields);
  if (!fields.status().ok()) return fields.status();
  auto length_s = UnidirectionalGreedyLength(p, segments, costs);
  if (!length_s.ok()) return fields.Locate(length_s.status());
  return ResultJson{{"makespan", *length_s}};
}

absl::StatusOr<Collective> PlanUnidirectional(InstanceFields& fields) {
  const std::int32_t p = ReadMachines(fields, "p");
  const std::vector<double> segments = ReadSegments(fields);
  const LinkCosts costs = ReadLinkCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return OfSchedule(UnidirectionalGreedySchedule(p, segments, costs), kHalfDuplex);
}

/// An element of whole units to be cut for the half-duplex greedy.
struct CutProblem {
  std::int64_t p = 1;
  double units = 1;
  LinkCosts costs;
  std::int64_t max_segments = 1;
};

absl::StatusOr<CutProblem> ReadCutProblem(InstanceFields& fields) {
  CutProblem problem{fields.Integer("p"), fields.Number("m"), ReadLinkCosts(fields),
                     fields.IntegerOr("max_segments", 1024)};
  fields.Note(fields.Locate(CheckCount("p", problem.p, 1, kCompressedMachinesMax)));
  fields.Note(
      fields.Locate(CheckCount("max_segments", problem.max_segments, 1, kSearchedSegmentsMax)));
  if (!(problem.units > 0 && problem.units <= kCostMax)) {
    fields.Note(fields.Error("m", "must be above 0 and at most 1e100"));
  }
  fields.Note(fields.Locate(CheckSegmented(1, {1}, problem.costs)));
  if (!fields.status().ok()) return fields.status();
  return problem;
}

// Best count of equal segments, by searched lengths of the greedy.
SegmentChoice BestUniform(const CutProblem& problem) {
  return BestUniformBySearch(
      [&](std::int64_t q) {
        return *UnidirectionalGreedyLength(
            problem.p, EqualSegments(problem.units, static_cast<std::int32_t>(q)), problem.costs);
      },
      problem.max_segments);
}

absl::StatusOr<ResultJson> SolveBestUniform(InstanceFields& fields) {
  auto problem = ReadCutProblem(fields);
  if (!problem.ok()) return problem.status();
  const SegmentChoice choice = BestUniform(*problem);
  return ResultJson{{"makespan", choice.length_s},
                    {"segments", choice.num_segments},
                    {"segment_units", problem->units / static_cast<double>(choice.num_segments)}};
}

absl::StatusOr<Collective> PlanBestUniform(InstanceFields& fields) {
  const std::int32_t p = ReadMachines(fields, "p");
  auto problem = ReadCutProblem(fields);
  if (!problem.ok()) return problem.status();
  const auto q = static_cast<std::int32_t>(BestUniform(*problem).num_segments);
  return OfSchedule(
      UnidirectionalGreedySchedule(p, EqualSegments(problem->units, q), problem->costs),
      kHalfDuplex);
}

absl::StatusOr<ResultJson> SolveNonuniform(InstanceFields& fields) {
  auto problem = ReadCutProblem(fields);
  if (!problem.ok()) return problem.status();
  auto best = BestNonuniform(problem->p, fields.Integer("m"), problem->costs);
  if (!fields.status().ok()) return fields.status();
  if (!best.ok()) {
    const SegmentChoice uniform = BestUniform(*problem);
    ResultJson result = {{"best_uniform", uniform.length_s},
                         {"best", uniform.length_s},
                         {"segments", uniform.num_segments}};
    SayHeuristic(best.status(), "the best equal segments are given", &result);
    return result;
  }
  ResultJson argmin = ResultJson::array();
  for (const auto& sizes : best->best_sizes) {
    ResultJson row = ResultJson::array();
    for (double size : sizes) row.push_back(static_cast<std::int64_t>(size));
    argmin.push_back(std::move(row));
  }
  return ResultJson{{"best_uniform", best->best_uniform_s},
                    {"best", best->best_s},
                    {"argmin", std::move(argmin)},
                    {"exact", true}};
}

absl::StatusOr<Collective> PlanNonuniform(InstanceFields& fields) {
  const std::int32_t p = ReadMachines(fields, "p");
  auto problem = ReadCutProblem(fields);
  if (!problem.ok()) return problem.status();
  auto best = BestNonuniform(p, fields.Integer("m"), problem->costs);
  if (!fields.status().ok()) return fields.status();
  if (!best.ok()) return PlanBestUniform(fields);
  return OfSchedule(UnidirectionalGreedySchedule(p, best->best_sizes.front(), problem->costs),
                    kHalfDuplex);
}

absl::StatusOr<Collective> PlanBidirectionalGreedy(InstanceFields& fields) {
  const std::int32_t p = ReadMachines(fields, "p");
  const std::vector<double> segments = ReadSegments(fields);
  const LinkCosts costs = ReadLinkCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return OfSchedule(BidirectionalGreedySchedule(p, segments, costs), kFullDuplex);
}

/// q equal segments of the round-optimal schedule, t_comm and t_comp (or d and c) each.
struct RoundProblem {
  std::int32_t p = 1;
  std::vector<double> units;
  LinkCosts costs;
};

absl::StatusOr<RoundProblem> ReadRoundProblem(InstanceFields& fields, const char* transfer,
                                              const char* combine) {
  RoundProblem problem{fields.SmallInteger("p"), {}, {}};
  const std::int32_t q = fields.SmallInteger("q");
  problem.costs = {0, fields.Number(transfer), fields.Number(combine)};
  if (!fields.status().ok()) return fields.status();
  if (q < 1) return fields.Error("q", absl::StrCat("is ", q, "; it must be at least 1"));
  if (absl::Status status = CheckCount("q", q, 1, kMessagesMax); !status.ok())
    return fields.Locate(status);
  problem.units.assign(static_cast<std::size_t>(q), 1.0);
  return problem;
}

absl::StatusOr<ResultJson> SolveRoundOptimal(InstanceFields& fields) {
  auto problem = ReadRoundProblem(fields, "t_comm", "t_comp");
  if (!problem.ok()) return problem.status();
  auto schedule = CirculantSchedule(problem->p, problem->units, problem->costs, kFullDuplex);
  if (!schedule.ok()) return fields.Locate(schedule.status());
  const auto q = static_cast<std::int32_t>(problem->units.size());
  ResultJson result = {{"makespan", schedule->makespan_s},
                       {"rounds", CirculantRounds(problem->p, q).size()}};
  // The greedy has the same length; it is shown where it takes no time.
  if (std::int64_t{problem->p} * q > kShownGreedyCells) return result;
  auto greedy = BidirectionalGreedySchedule(problem->p, problem->units, problem->costs);
  if (!greedy.ok()) return fields.Locate(greedy.status());
  result["greedy"] = greedy->makespan_s;
  return result;
}

absl::StatusOr<Collective> PlanRoundOptimal(InstanceFields& fields) {
  auto problem = ReadRoundProblem(fields, "t_comm", "t_comp");
  if (!problem.ok()) return problem.status();
  return OfSchedule(CirculantSchedule(problem->p, problem->units, problem->costs, kFullDuplex),
                    kFullDuplex);
}

// Segments of any sizes and any ports: the rounds as they are, and interleaved.
absl::StatusOr<Collective> PlanCirculant(InstanceFields& fields) {
  const std::int32_t p = ReadMachines(fields, "p");
  const std::vector<double> segments = ReadSegments(fields);
  const LinkCosts costs = ReadLinkCosts(fields);
  const PortModel ports = ReadPorts(fields);
  if (!fields.status().ok()) return fields.status();
  return OfSchedule(CirculantSchedule(p, segments, costs, ports), ports);
}

absl::StatusOr<Collective> PlanInterleaved(InstanceFields& fields) {
  const std::int32_t p = ReadMachines(fields, "p");
  const std::vector<double> segments = ReadSegments(fields);
  const LinkCosts costs = ReadLinkCosts(fields);
  const PortModel ports = ReadPorts(fields);
  if (!fields.status().ok()) return fields.status();
  return OfSchedule(InterleavedSchedule(p, segments, costs, ports), ports);
}

// Exact where the instance is tiny; nothing elsewhere.
absl::StatusOr<Schedule> ExactOverlap(const RoundProblem& problem) {
  const auto q = static_cast<std::int32_t>(problem.units.size());
  if ((std::int64_t{problem.p} - 1) * q > 8) return absl::NotFoundError("beyond the exact search");
  return SegmentedExactSearch(problem.p, q, problem.costs);
}

absl::StatusOr<ResultJson> SolveOverlap(InstanceFields& fields) {
  auto problem = ReadRoundProblem(fields, "d", "c");
  if (!problem.ok()) return problem.status();
  const auto q = static_cast<std::int64_t>(problem->units.size());
  auto rounds = CirculantSchedule(problem->p, problem->units, problem->costs, kOverlap);
  if (!rounds.ok()) return fields.Locate(rounds.status());
  auto interleaved = InterleavedSchedule(problem->p, problem->units, problem->costs, kOverlap);
  if (!interleaved.ok()) return fields.Locate(interleaved.status());
  auto bound_s = OverlapLowerBound(
      problem->p, q, {problem->costs.beta_s_per_unit, problem->costs.gamma_s_per_unit});
  if (!bound_s.ok()) return fields.Locate(bound_s.status());
  const Seconds achievable_s = std::min(rounds->makespan_s, interleaved->makespan_s);
  ResultJson result = {{"lower_bound", *bound_s},
                       {"round_order", rounds->makespan_s},
                       {"interleaved", interleaved->makespan_s},
                       {"achievable", achievable_s},
                       {"makespan", achievable_s}};
  // One segment needs no schedule of rounds: the greedy tree meets the bound.
  if (q == 1) result["makespan"] = *bound_s;
  auto exact = ExactOverlap(*problem);
  if (!exact.ok()) return result;  // the field is only for tiny instances
  result["optimum_fifo"] = exact->makespan_s;
  result["makespan"] = std::min(result["makespan"].get<double>(), exact->makespan_s);
  return result;
}

// The schedule whose length SolveOverlap states as makespan.
absl::StatusOr<Collective> PlanOverlap(InstanceFields& fields) {
  auto problem = ReadRoundProblem(fields, "d", "c");
  if (!problem.ok()) return problem.status();
  if (problem->units.size() == 1) {
    const ElementCosts element{problem->costs.beta_s_per_unit, problem->costs.gamma_s_per_unit};
    auto tree = GreedyTree(problem->p, element);
    if (!tree.ok()) return tree.status();
    return OfSchedule(FromTree("greedy tree", *tree, element, 1), kOverlap);
  }
  auto best = CirculantSchedule(problem->p, problem->units, problem->costs, kOverlap);
  if (!best.ok()) return best.status();
  auto interleaved = InterleavedSchedule(problem->p, problem->units, problem->costs, kOverlap);
  if (interleaved.ok() && interleaved->makespan_s < best->makespan_s) best = std::move(interleaved);
  auto exact = ExactOverlap(*problem);
  if (exact.ok() && exact->makespan_s < best->makespan_s) best = std::move(exact);
  return OfSchedule(std::move(best), kOverlap);
}

}  // namespace

const std::vector<InstanceSolver>& SegmentedSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"langou_unidirectional_greedy", SolveUnidirectional, PlanUnidirectional},
      {"langou_best_uniform", SolveBestUniform, PlanBestUniform},
      {"langou_nonuniform", SolveNonuniform, PlanNonuniform},
      {"langou_bidirectional_greedy", nullptr, PlanBidirectionalGreedy},
      {"bidirectional_round_optimal", SolveRoundOptimal, PlanRoundOptimal},
      {"round_optimal", nullptr, PlanCirculant},
      {"interleaved", nullptr, PlanInterleaved},
      {"overlap_segmented_bidirectional", SolveOverlap, PlanOverlap},
  };
  return solvers;
}

}  // namespace weir::planner::tree
