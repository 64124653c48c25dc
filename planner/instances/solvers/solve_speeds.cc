#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/print_collective.h"
#include "planner/instances/solvers/shared_fields.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/speeds/class_dp.h"
#include "planner/tree/speeds/earliest_possible.h"
#include "planner/tree/speeds/pair_costs.h"
#include "planner/tree/speeds/sequence_search.h"
#include "planner/tree/speeds/slot_search.h"

namespace weir::planner::tree {

namespace {

/// Tries of a local search when the instance does not say how many, and messages placed in all.
constexpr std::int64_t kIterations = 2000;
constexpr std::int64_t kPlacedMessages = 10'000'000;

/// A starting order, and whether it is known to be the best.
struct FoundOrder {
  std::string method;
  SequenceResult sequence;
  /// OK when it is exact; else why it is not.
  absl::Status gave_up;
};

absl::StatusOr<Collective> OfOrder(const char* method, const std::vector<Seconds>& ordered,
                                   std::int64_t limit) {
  std::vector<std::int32_t> sequence(ordered.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  auto senders = EarliestPossible(ordered, sequence, limit);
  if (!senders.ok()) return senders.status();
  return Collective{FromSenders(method, *senders, ordered, 1), kExclusive, {}, limit, {}};
}

std::int64_t DefaultIterations(std::size_t num_senders) {
  return std::min(kIterations, kPlacedMessages / (static_cast<std::int64_t>(num_senders) + 1));
}

absl::StatusOr<FoundOrder> ByLocalSearch(const std::vector<Seconds>& times, std::int64_t limit,
                                         absl::Status gave_up) {
  auto improved = ImproveSequence(times, limit, DefaultIterations(times.size()));
  if (!improved.ok()) return improved.status();
  return FoundOrder{"local search", *std::move(improved), std::move(gave_up)};
}

absl::StatusOr<ResultJson> SolveEarliestPossible(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("sequence");
  if (!fields.status().ok()) return fields.status();
  std::vector<std::int32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  auto schedule = EarliestPossible(times, order);
  if (!schedule.ok()) return fields.Locate(schedule.status());
  return ResultJson{{"makespan", schedule->makespan_s}, {"starts", schedule->start_s}};
}

absl::StatusOr<Collective> PlanEarliestPossible(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("sequence");
  if (!fields.status().ok()) return fields.status();
  return OfOrder("earliest possible", times, kNoTransferLimit);
}

// SNF under an optional limit.
absl::StatusOr<Collective> PlanSlowestNodeFirst(InstanceFields& fields) {
  std::vector<double> times = fields.Numbers("senders");
  const std::int64_t limit = fields.IntegerOr("K", kNoTransferLimit);
  if (!fields.status().ok()) return fields.status();
  auto snf = SlowestNodeFirst(times, limit);
  if (!snf.ok()) return snf.status();
  return Collective{FromSenders("slowest-node-first", *snf, times, 1), kExclusive, {}, limit, {}};
}

// Few classes have an exact table; otherwise the slot search must end with a proof.
absl::StatusOr<FoundOrder> FindOrder(const std::vector<Seconds>& times) {
  auto slots = SearchSlots(times);
  if (!slots.ok()) return slots.status();
  if (slots->proven) {
    return FoundOrder{"slot search", {slots->makespan_s, std::move(slots->ordered_times)}, {}};
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
  if (dp.ok()) return FoundOrder{"class table", {dp->optimum_s, std::move(dp->ordered_times)}, {}};
  auto found = ByLocalSearch(times, kNoTransferLimit,
                             absl::InvalidArgumentError(absl::StrCat(
                                 "senders: the exact search gave up after ", kSlotStatesMax,
                                 " states and ", dp.status().message())));
  if (found.ok() && slots->makespan_s < found->sequence.makespan_s) {
    found->method = "slot search, ended early";
    found->sequence = {slots->makespan_s, std::move(slots->ordered_times)};
  }
  return found;
}

// "optimum" where the order is exact; else makespan, lower bound and the reason.
absl::StatusOr<ResultJson> PrintFound(const InstanceFields& fields,
                                      const absl::StatusOr<FoundOrder>& found,
                                      const std::vector<Seconds>& times, std::int64_t limit) {
  if (!found.ok()) return fields.Locate(found.status());
  auto snf = SlowestNodeFirst(times, limit);
  if (!snf.ok()) return fields.Locate(snf.status());
  ResultJson result = {{"snf", snf->makespan_s}};
  if (found->gave_up.ok()) {
    result["optimum"] = found->sequence.makespan_s;
    result["exact"] = true;
    return result;
  }
  result["makespan"] = found->sequence.makespan_s;
  result["lower_bound"] = SenderLowerBound(times, limit);
  SayHeuristic(found->gave_up, absl::StrCat("the order of ", found->method, " is given"), &result);
  return result;
}

absl::StatusOr<Collective> PlanFound(const absl::StatusOr<FoundOrder>& found, std::int64_t limit) {
  if (!found.ok()) return found.status();
  return OfOrder(found->method.c_str(), found->sequence.ordered_times, limit);
}

absl::StatusOr<ResultJson> SolveSnfAndOptimum(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("senders");
  if (!fields.status().ok()) return fields.status();
  return PrintFound(fields, FindOrder(times), times, kNoTransferLimit);
}

absl::StatusOr<Collective> PlanOptimum(InstanceFields& fields) {
  const std::vector<double> times = fields.Numbers("senders");
  if (!fields.status().ok()) return fields.status();
  return PlanFound(FindOrder(times), kNoTransferLimit);
}

/// Senders of few speeds.
struct Classes {
  std::vector<double> times;
  std::vector<std::int64_t> counts;
};

absl::StatusOr<Classes> ReadClasses(InstanceFields& fields) {
  Classes classes;
  if (fields.Has("fast") || fields.Has("slow") || fields.Has("t_fast") || fields.Has("t_slow")) {
    classes.counts = {fields.Integer("fast"), fields.Integer("slow")};
    classes.times = {fields.Number("t_fast"), fields.Number("t_slow")};
    for (const auto& [field, count] :
         {std::pair{"fast", classes.counts[0]}, {"slow", classes.counts[1]}}) {
      fields.Note(fields.Locate(CheckCount(field, count, 0, kSendersMax)));
    }
  } else {
    classes.times = fields.Numbers("times");
    classes.counts = fields.Integers("counts");
    if (classes.times.size() != classes.counts.size()) {
      fields.Note(
          fields.Error("counts", absl::StrCat("has ", classes.counts.size(), " entries; times has ",
                                              classes.times.size())));
    }
  }
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < classes.counts.size(); ++k) {
    fields.Note(fields.Locate(
        CheckCount(absl::StrCat("counts[", k, "]"), classes.counts[k], 0, kSendersMax)));
    if (!fields.status().ok()) return fields.status();
    sum += classes.counts[k];
  }
  fields.Note(fields.Locate(CheckCount("sum of counts", sum, 0, kSendersMax)));
  fields.Note(fields.Locate(CheckCosts("times", classes.times)));
  if (!fields.status().ok()) return fields.status();
  return classes;
}

std::vector<Seconds> SendersOf(const Classes& classes) {
  std::vector<Seconds> senders;
  for (std::size_t k = 0; k < classes.times.size(); ++k) {
    senders.insert(senders.end(), static_cast<std::size_t>(classes.counts[k]), classes.times[k]);
  }
  return senders;
}

absl::StatusOr<FoundOrder> FindClassOrder(const Classes& classes) {
  auto dp = ClassOptimumByDp(classes.times, classes.counts);
  if (dp.ok()) return FoundOrder{"class table", {dp->optimum_s, std::move(dp->ordered_times)}, {}};
  return ByLocalSearch(SendersOf(classes), kNoTransferLimit, dp.status());
}

absl::StatusOr<ResultJson> SolveClasses(InstanceFields& fields) {
  auto classes = ReadClasses(fields);
  if (!classes.ok()) return classes.status();
  return PrintFound(fields, FindClassOrder(*classes), SendersOf(*classes), kNoTransferLimit);
}

absl::StatusOr<Collective> PlanClasses(InstanceFields& fields) {
  auto classes = ReadClasses(fields);
  if (!classes.ok()) return classes.status();
  return PlanFound(FindClassOrder(*classes), kNoTransferLimit);
}

/// Senders under a limit on transfers.
struct LimitedSenders {
  std::vector<Seconds> times;
  std::int64_t limit = kNoTransferLimit;
};

absl::StatusOr<LimitedSenders> ReadLimited(InstanceFields& fields) {
  LimitedSenders senders{fields.Numbers("senders"), fields.Integer("K")};
  if (!fields.status().ok()) return fields.status();
  const auto num_machines = static_cast<std::int64_t>(senders.times.size()) + 1;
  fields.Note(fields.Locate(CheckCount("K", senders.limit, 1, num_machines)));
  fields.Note(fields.Locate(CheckCosts("senders", senders.times)));
  if (!fields.status().ok()) return fields.status();
  return senders;
}

absl::StatusOr<FoundOrder> FindLimitedOrder(const LimitedSenders& senders) {
  auto exact = ExactLimitedSequence(senders.times, senders.limit);
  if (exact.ok()) return FoundOrder{"exact under the limit", *std::move(exact), {}};
  return ByLocalSearch(senders.times, senders.limit, exact.status());
}

absl::StatusOr<ResultJson> SolveSpeedsLimitedTransfers(InstanceFields& fields) {
  auto senders = ReadLimited(fields);
  if (!senders.ok()) return senders.status();
  return PrintFound(fields, FindLimitedOrder(*senders), senders->times, senders->limit);
}

absl::StatusOr<Collective> PlanSpeedsLimitedTransfers(InstanceFields& fields) {
  auto senders = ReadLimited(fields);
  if (!senders.ok()) return senders.status();
  return PlanFound(FindLimitedOrder(*senders), senders->limit);
}

absl::StatusOr<SequenceResult> ImproveInstance(InstanceFields& fields, std::vector<Seconds>* times,
                                               std::int64_t* limit) {
  *times = fields.Numbers("senders");
  *limit = fields.IntegerOr("K", kNoTransferLimit);
  const std::int64_t iterations = fields.IntegerOr("iterations", DefaultIterations(times->size()));
  if (!fields.status().ok()) return fields.status();
  auto improved = ImproveSequence(*times, *limit, iterations);
  if (!improved.ok()) return fields.Locate(improved.status());
  return improved;
}

absl::StatusOr<ResultJson> SolveLocalSearch(InstanceFields& fields) {
  std::vector<Seconds> times;
  std::int64_t limit = 0;
  auto improved = ImproveInstance(fields, &times, &limit);
  if (!improved.ok()) return improved.status();
  ResultJson result = {{"makespan", improved->makespan_s},
                       {"snf", SlowestNodeFirst(times, limit)->makespan_s},
                       {"lower_bound", SenderLowerBound(times, limit)}};
  if (times.size() <= kPrintedMessagesMax) result["sequence"] = improved->ordered_times;
  return result;
}

absl::StatusOr<Collective> PlanLocalSearch(InstanceFields& fields) {
  std::vector<Seconds> times;
  std::int64_t limit = 0;
  auto improved = ImproveInstance(fields, &times, &limit);
  if (!improved.ok()) {
    fields.Note(improved.status());
    return improved.status();
  }
  return OfOrder("local search", improved->ordered_times, limit);
}

// Every message takes its sender's and its receiver's time.
absl::StatusOr<Collective> PlanPairCosts(InstanceFields& fields) {
  const std::vector<double> send_s = fields.Numbers("send");
  const std::vector<double> receive_s = fields.Numbers("receive");
  const auto n = static_cast<std::int64_t>(send_s.size());
  // A try builds the tree in quadratic time.
  const std::int64_t affordable = 400'000'000 / (n * n + 1);
  const std::int64_t iterations = fields.IntegerOr("iterations", std::min(kIterations, affordable));
  if (!fields.status().ok()) return fields.status();
  auto tree = PairCostTree(send_s, receive_s, iterations);
  if (!tree.ok()) return tree.status();
  Collective collective;
  collective.ports = kExclusive;
  collective.reduction = FromTree("reversed greedy, pair costs", *tree, {0, 0}, 1);
  for (Message& message : collective.reduction.messages) {
    message.port_s = send_s[message.sender] + receive_s[message.receiver];
  }
  return collective;
}

}  // namespace

const std::vector<InstanceSolver>& SpeedSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"liu_ep", SolveEarliestPossible, PlanEarliestPossible},
      {"liu_snf", nullptr, PlanSlowestNodeFirst},
      {"liu_snf_and_optimum", SolveSnfAndOptimum, PlanOptimum},
      {"liu_dp_two_classes", SolveClasses, PlanClasses},
      {"liu_dp_k_classes", SolveClasses, PlanClasses},
      {"liu_limited_transfers", SolveSpeedsLimitedTransfers, PlanSpeedsLimitedTransfers},
      {"liu_local_search", SolveLocalSearch, PlanLocalSearch},
      {"pair_costs", nullptr, PlanPairCosts},
  };
  return solvers;
}

}  // namespace weir::planner::tree
