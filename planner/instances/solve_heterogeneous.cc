#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/instances/instance_solvers.h"
#include "planner/tree/broadcast.h"
#include "planner/tree/class_dp.h"
#include "planner/tree/earliest_possible.h"
#include "planner/tree/input_checks.h"
#include "planner/tree/sequence_search.h"
#include "planner/tree/slot_search.h"

namespace weir::planner::tree {

namespace {

absl::StatusOr<ResultJson> SolveEarliestPossible(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("sequence");
  if (!fields.status().ok()) return fields.status();
  std::vector<std::int32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  auto schedule = EarliestPossible(times, order);
  if (!schedule.ok()) return fields.Locate(schedule.status());
  return ResultJson{{"makespan", schedule->makespan_s}, {"starts", schedule->start_s}};
}

// Few classes have an exact table; otherwise the slot search must end with a proof.
absl::StatusOr<Seconds> Optimum(const std::vector<double>& times) {
  if (auto found = SearchSlots(times); !found.ok() || found->proven) {
    return found.ok() ? absl::StatusOr<Seconds>(found->makespan_s) : found.status();
  }
  std::map<double, std::int64_t> classes;
  for (double time_s : times) ++classes[time_s];
  std::vector<double> class_times;
  std::vector<std::int64_t> counts;
  for (const auto& [time_s, count] : classes) {
    class_times.push_back(time_s);
    counts.push_back(count);
  }
  auto dp = ClassOptimumByDp(class_times, counts);
  if (dp.ok()) return dp->optimum_s;
  return absl::InvalidArgumentError(absl::StrCat("senders: the exact search gave up after ",
                                                 kSlotStatesMax, " states and ",
                                                 dp.status().message()));
}

absl::StatusOr<ResultJson> SolveSnfAndOptimum(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("senders");
  if (!fields.status().ok()) return fields.status();
  auto snf = SlowestNodeFirst(times);
  if (!snf.ok()) return fields.Locate(snf.status());
  auto optimum_s = Optimum(times);
  if (!optimum_s.ok()) return fields.Locate(optimum_s.status());
  return ResultJson{{"snf", snf->makespan_s}, {"optimum", *optimum_s}};
}

absl::StatusOr<ResultJson> SolveClasses(const InstanceFields& fields,
                                        const std::vector<double>& times,
                                        const std::vector<std::int64_t>& counts) {
  auto dp = ClassOptimumByDp(times, counts);
  if (!dp.ok()) return fields.Locate(dp.status());
  std::vector<double> senders;
  for (std::size_t k = 0; k < times.size(); ++k) {
    senders.insert(senders.end(), static_cast<std::size_t>(counts[k]), times[k]);
  }
  auto snf = SlowestNodeFirst(senders);
  if (!snf.ok()) return fields.Locate(snf.status());
  return ResultJson{{"optimum", dp->optimum_s}, {"snf", snf->makespan_s}};
}

absl::StatusOr<ResultJson> SolveTwoClasses(InstanceFields& fields) {
  const std::vector<std::int64_t> counts = {fields.Integer("fast"), fields.Integer("slow")};
  const std::vector<double> times = {fields.Number("t_fast"), fields.Number("t_slow")};
  if (!fields.status().ok()) return fields.status();
  for (const auto& [field, count] : {std::pair{"fast", counts[0]}, {"slow", counts[1]}}) {
    if (absl::Status status = CheckCount(field, count, 0, kClassCellsMax); !status.ok()) {
      return fields.Locate(status);
    }
  }
  return SolveClasses(fields, times, counts);
}

absl::StatusOr<ResultJson> SolveManyClasses(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("times");
  const std::vector<std::int64_t> counts = fields.Integers("counts");
  if (!fields.status().ok()) return fields.status();
  return SolveClasses(fields, times, counts);
}

absl::StatusOr<ResultJson> SolveLimitedTransfers(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("senders");
  const std::int64_t limit = fields.Integer("K");
  if (!fields.status().ok()) return fields.status();
  const auto num_machines = static_cast<std::int64_t>(times.size()) + 1;
  if (absl::Status status = CheckCount("K", limit, 1, num_machines); !status.ok())
    return fields.Locate(status);
  auto snf = SlowestNodeFirst(times, limit);
  if (!snf.ok()) return fields.Locate(snf.status());
  auto exact = ExactLimitedSequence(times, limit);
  if (!exact.ok()) return fields.Locate(exact.status());
  return ResultJson{{"optimum", exact->makespan_s}, {"snf", snf->makespan_s}};
}

absl::StatusOr<ResultJson> SolveBroadcast(InstanceFields& fields) {
  const double source = fields.Number("source");
  const std::vector<double> others = fields.Numbers("others");
  if (!fields.status().ok()) return fields.status();
  auto fnf = FastestNodeFirst(source, others);
  if (!fnf.ok()) return fields.Locate(fnf.status());
  auto optimum_s = ExactBroadcastLength(source, others);
  if (!optimum_s.ok()) return fields.Locate(optimum_s.status());
  auto all_reduce_s = AllReduceLength(source, others);
  if (!all_reduce_s.ok()) return fields.Locate(all_reduce_s.status());
  return ResultJson{{"fnf", fnf->makespan_s},
                    {"optimum_broadcast", *optimum_s},
                    {"allreduce_snf_plus_fnf", *all_reduce_s}};
}

}  // namespace

const std::vector<InstanceSolver>& HeterogeneousSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"liu_ep", SolveEarliestPossible},
      {"liu_snf_and_optimum", SolveSnfAndOptimum},
      {"liu_dp_two_classes", SolveTwoClasses},
      {"liu_dp_k_classes", SolveManyClasses},
      {"liu_limited_transfers", SolveLimitedTransfers},
      {"fnf_broadcast_allreduce", SolveBroadcast},
  };
  return solvers;
}

}  // namespace weir::planner::tree
