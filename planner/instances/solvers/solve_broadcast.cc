#include <utility>

#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/print_collective.h"
#include "planner/instances/solvers/shared_fields.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/speeds/broadcast.h"
#include "planner/tree/speeds/earliest_possible.h"

namespace weir::planner::tree {

namespace {

struct SourceAndOthers {
  Seconds source = 0;
  std::vector<Seconds> others;
};

absl::StatusOr<SourceAndOthers> ReadMachinesOf(InstanceFields& fields) {
  SourceAndOthers machines{fields.Number("source"), fields.Numbers("others")};
  if (!fields.status().ok()) return fields.status();
  return machines;
}

absl::StatusOr<Spread> SpreadFrom(const SourceAndOthers& machines, Seconds begin_s) {
  auto fnf = FastestNodeFirst(machines.source, machines.others);
  if (!fnf.ok()) return fnf.status();
  Spread spread{*std::move(fnf), {machines.source}, begin_s};
  spread.times.insert(spread.times.end(), machines.others.begin(), machines.others.end());
  return spread;
}

absl::StatusOr<Collective> PlanBroadcast(InstanceFields& fields) {
  auto machines = ReadMachinesOf(fields);
  if (!machines.ok()) return machines.status();
  auto spread = SpreadFrom(*machines, 0);
  if (!spread.ok()) return spread.status();
  Collective collective;
  collective.ports = kExclusive;
  collective.reduction = EmptySchedule("fastest-node-first broadcast",
                                       static_cast<std::int32_t>(machines->others.size()) + 1, {1});
  collective.spread = *std::move(spread);
  return collective;
}

absl::StatusOr<Collective> PlanAllReduce(InstanceFields& fields) {
  auto machines = ReadMachinesOf(fields);
  if (!machines.ok()) return machines.status();
  auto snf = SlowestNodeFirst(machines->others);
  if (!snf.ok()) return snf.status();
  auto spread = SpreadFrom(*machines, snf->makespan_s);
  if (!spread.ok()) return spread.status();
  Collective collective;
  collective.ports = kExclusive;
  collective.reduction =
      FromSenders("slowest-node-first, then fastest-node-first", *snf, machines->others, 1);
  collective.spread = *std::move(spread);
  return collective;
}

absl::StatusOr<ResultJson> SolveBroadcast(InstanceFields& fields) {
  auto machines = ReadMachinesOf(fields);
  if (!machines.ok()) return machines.status();
  auto fnf = FastestNodeFirst(machines->source, machines->others);
  if (!fnf.ok()) return fields.Locate(fnf.status());
  auto all_reduce_s = AllReduceLength(machines->source, machines->others);
  if (!all_reduce_s.ok()) return fields.Locate(all_reduce_s.status());
  ResultJson result = {{"fnf", fnf->makespan_s}};
  auto optimum_s = ExactBroadcastLength(machines->source, machines->others);
  if (optimum_s.ok()) {
    result["optimum_broadcast"] = *optimum_s;
    result["exact"] = true;
  } else {
    result["lower_bound"] = BroadcastLowerBound(machines->source, machines->others);
    SayHeuristic(optimum_s.status(), "the fastest-node-first broadcast is given", &result);
  }
  result["allreduce_snf_plus_fnf"] = *all_reduce_s;
  return result;
}

}  // namespace

const std::vector<InstanceSolver>& BroadcastSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"fnf_broadcast", nullptr, PlanBroadcast},
      {"snf_fnf_allreduce", nullptr, PlanAllReduce},
      {"fnf_broadcast_allreduce", SolveBroadcast, PlanAllReduce},
  };
  return solvers;
}

}  // namespace weir::planner::tree
