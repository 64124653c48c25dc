#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/print_collective.h"
#include "planner/instances/solvers/shared_fields.h"
#include "planner/tree/choice/selection.h"
#include "planner/tree/choice/spreading.h"
#include "planner/tree/model/input_checks.h"

namespace weir::planner::tree {

namespace {

absl::StatusOr<ReductionProblem> ReadReductionProblem(InstanceFields& fields) {
  ReductionProblem problem;
  problem.num_machines = ReadMachines(fields, "p");
  problem.element_units = fields.NumberOr("units", 1);
  problem.costs = ReadLinkCosts(fields);
  problem.ports = ReadPorts(fields);
  problem.commutative = fields.BooleanOr("commutative", true);
  const std::int64_t root = fields.IntegerOr("root", 0);
  fields.Note(fields.Locate(CheckCount("root", root, 0, problem.num_machines - 1)));
  problem.root = static_cast<MachineIndex>(root);
  problem.slowdown = fields.NumbersIfAny("slowdown");
  problem.ready_s = fields.NumbersIfAny("release");
  problem.max_transfers = fields.IntegerOr("K", kNoTransferLimit);
  problem.max_segments = fields.IntegerOr("max_segments", 1024);
  problem.cuts = ReadRackCuts(fields, problem.num_machines);
  problem.shares_cuts = fields.BooleanOr("shared", false);
  if (!fields.status().ok()) return fields.status();
  return problem;
}

absl::StatusOr<Collective> OfChoice(const ReductionProblem& problem, ReductionChoice choice) {
  Collective collective;
  collective.reduction = std::move(choice.schedule);
  collective.ports = problem.ports;
  collective.ready_s = problem.ready_s;
  collective.max_transfers = problem.max_transfers;
  if (!problem.shares_cuts) collective.cuts = problem.cuts;
  // Whoever waits for all begins when the last element is ready.
  if (!problem.ready_s.empty() && absl::StartsWith(collective.reduction.method, "wait for all")) {
    const Seconds last_s = *std::max_element(problem.ready_s.begin(), problem.ready_s.end());
    collective.ready_s.assign(problem.ready_s.size(), last_s);
  }
  return collective;
}

absl::StatusOr<Collective> PlanChoice(InstanceFields& fields) {
  auto problem = ReadReductionProblem(fields);
  if (!problem.ok()) return problem.status();
  auto choice = ChooseReduction(*problem);
  if (!choice.ok()) return choice.status();
  return OfChoice(*problem, *std::move(choice));
}

ResultJson PrintCandidates(const std::vector<ReductionCandidate>& candidates) {
  ResultJson all = ResultJson::array();
  for (const ReductionCandidate& candidate : candidates) {
    ResultJson printed = {{"name", candidate.name}};
    if (candidate.refusal.empty()) {
      printed["segments"] = candidate.num_segments;
      printed["length"] = candidate.length_s;
    } else {
      printed["refusal"] = candidate.refusal;
    }
    all.push_back(std::move(printed));
  }
  return all;
}

absl::StatusOr<ResultJson> SolveChoice(InstanceFields& fields) {
  auto problem = ReadReductionProblem(fields);
  if (!problem.ok()) return problem.status();
  auto choice = ChooseReduction(*problem);
  if (!choice.ok()) return fields.Locate(choice.status());
  ResultJson result = {{"makespan", choice->schedule.makespan_s},
                       {"winner", choice->candidates.front().name},
                       {"margin", choice->margin},
                       {"choice", DescribeChoice(*choice)}};
  result["candidates"] = PrintCandidates(choice->candidates);
  return result;
}

absl::StatusOr<ResultJson> PrintSpreading(const InstanceFields& fields,
                                          const absl::StatusOr<SpreadingSchedule>& chosen) {
  if (!chosen.ok()) return fields.Locate(chosen.status());
  return ResultJson({{"makespan", chosen->schedule.makespan_s},
                     {"winner", chosen->schedule.method},
                     {"candidates", PrintCandidates(chosen->candidates)}});
}

absl::StatusOr<ResultJson> SolveChosenBroadcast(InstanceFields& fields) {
  auto problem = ReadReductionProblem(fields);
  if (!problem.ok()) return problem.status();
  return PrintSpreading(fields, ChooseBroadcast(*problem));
}

absl::StatusOr<ResultJson> SolveChosenAllReduce(InstanceFields& fields) {
  auto problem = ReadReductionProblem(fields);
  if (!problem.ok()) return problem.status();
  return PrintSpreading(fields, ChooseAllReduce(*problem));
}

}  // namespace

const std::vector<InstanceSolver>& SelectionSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"choose_reduction", SolveChoice, PlanChoice},
      {"choose_broadcast", SolveChosenBroadcast, nullptr},
      {"choose_allreduce", SolveChosenAllReduce, nullptr},
  };
  return solvers;
}

}  // namespace weir::planner::tree
