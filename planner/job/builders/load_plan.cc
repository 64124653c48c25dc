#include "planner/job/builders/load_plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "planner/explain/readable.h"
#include "planner/job/builders/even_plan.h"
#include "planner/job/builders/job_chain.h"
#include "planner/job/builders/load_split.h"
#include "planner/job/builders/split_assembly.h"
#include "planner/job/job_bound.h"
#include "planner/job/rack_loads.h"
#include "planner/order/lanes/order_by_lanes.h"
#include "planner/order/order_bound.h"
#include "planner/order/order_by_slack.h"
#include "planner/order/planning_effort.h"

namespace weir::planner {
namespace {

// Above this many pairs in a layer only one transfer a pair is ordered, by list.
constexpr double kSchedulePairsMax = 10000;
// Time of one pair in one plan that is tried.
constexpr Seconds kPlanSecondsPerPair = 4e-6;
// Solving may take this long however short the job is, so that small clusters never go without.
constexpr Seconds kSolvingMin = 0.5;
// What trying a number of lanes costs, in such plans: two plans, each predicted twice.
constexpr double kPairsALaning = 4;
// Most transfers for which rates over time are tried. They take 0.01 s of one core to plan for 992
// of them and up to 0.2 s for 4032 (tests/bench/order/rates_bench.cc), more where each mapper ends
// at a moment of its own.
constexpr std::size_t kOverTimeTriedMax = 1024;

/// The plan that is predicted to end first so far, and its split; an empty one is the even split.
struct Best {
  Plan plan;
  LoadSplit split;
};

/// Planning must stay far shorter than what it plans. Its time is counted by the size of what it
/// tries, not measured, so that the same question gets the same plan everywhere.
class Budget {
 public:
  explicit Budget(double effort) : part_(effort * kPlanningPart) {}

  /// True when building a plan of this many pairs still pays, given the best one so far.
  bool Allows(double pairs, const Best& best) {
    const Seconds costs_s = kPlanSecondsPerPair * pairs;
    if (spent_s_ + costs_s > part_ * best.plan.summary.makespan_s) return false;
    spent_s_ += costs_s;
    return true;
  }

 private:
  double part_;
  Seconds spent_s_ = 0;
};

/// Tries every order of one split and keeps the plan that is predicted to end first.
void TryOrders(const JobShape& shape, const ClusterProfile& cluster, load::Chain chain,
               const LoadSplit& solved, Budget& budget, Best& best) {
  const LoadSplit split = FittedToInput(solved, shape);
  if (!shape.uncut.empty()) {
    chain.num_mappers = static_cast<std::int32_t>(split.shares[0].size());
    SetOutputRatio(shape, chain);
  }
  const double pairs = PairsOf(split);
  const auto offer = [&](absl::StatusOr<Plan> plan, double gain) {
    if (!plan.ok() || plan->summary.makespan_s >= best.plan.summary.makespan_s * (1 - gain)) return;
    best = {*std::move(plan), split};
  };
  if (!budget.Allows(pairs, best)) return;
  offer(AssembleSplit(shape, cluster, split, {}, PieceOrder::kRotation), 0);
  // The schedules cost about as much as a plan.
  if (PairsMax(split) > kSchedulePairsMax || !budget.Allows(pairs, best)) return;
  const absl::StatusOr<std::vector<TimedSchedule>> schedules = SchedulesOf(chain, split);
  if (!schedules.ok()) return;  // the rotation stands
  for (const PieceOrder order :
       {PieceOrder::kPairsByList, PieceOrder::kPairsByStart, PieceOrder::kPieces}) {
    if (!budget.Allows(pairs, best)) return;
    offer(AssembleSplit(shape, cluster, split, *schedules, order),
          order == PieceOrder::kPieces ? kFinerGain : 0);
  }
}

/// Where racks have few ways in and out, tries loads that keep more inside them.
void TryRacks(const JobShape& shape, const ClusterProfile& cluster, Budget& budget, Best& best) {
  const std::vector<std::vector<Rack>> levels = RackLevels(cluster.network);
  if (levels.empty()) return;
  const std::vector<Rack>& racks = levels[0];
  RackWork work =
      RackWorkOf(shape, cluster, MapOutputBytes(shape, static_cast<double>(shape.input_bytes)));
  work.rates = RackRates(racks, cluster);
  work.map_s = static_cast<double>(shape.input_bytes) * shape.map_seconds_per_byte.value;
  if (cluster.network.pacing_fraction > 0) work.moved_s /= cluster.network.pacing_fraction;
  const RackShares parts = ShortestRackShares(racks, work);
  // By rate in a rack; the best split so far may have left some workers out.
  LoadSplit split;
  for (std::size_t p = 0; p <= shape.layers.size(); ++p) {
    const std::int32_t asked = p == 0 ? shape.num_mappers : shape.layers[p - 1].num_reducers;
    const std::int32_t count = asked > 0 ? asked : cluster.network.num_workers;
    split.shares.emplace_back(static_cast<std::size_t>(count), 1.0 / count);
  }
  PlaceSteps(cluster, Placement::kTogether, split);
  for (const double power : {1.0, 0.0}) {
    const std::optional<LoadSplit> divided =
        DividedByRacks(WeightedByRate(split, shape, cluster, power), shape, racks, parts);
    if (!divided) return;
    const LoadSplit fitted = FittedToInput(*divided, shape);
    if (!budget.Allows(PairsOf(fitted), best)) return;
    absl::StatusOr<Plan> plan = AssembleSplit(shape, cluster, fitted, {}, PieceOrder::kRotation);
    if (!plan.ok() || plan->summary.makespan_s >= best.plan.summary.makespan_s) continue;
    plan->summary.notes = {
        absl::StrCat("Loads are divided by racks: with ",
                     ReadablePercent(*std::max_element(parts.mapped.begin(), parts.mapped.end())),
                     " of the input and ",
                     ReadablePercent(*std::max_element(parts.reduced.begin(), parts.reduced.end())),
                     " of the keys in the rack with most; otherwise ",
                     ReadableSeconds(best.plan.summary.makespan_s), ".")};
    best = {*std::move(plan), fitted};
  }
}

bool UnequalWorkers(const ClusterProfile& cluster) {
  return std::any_of(cluster.workers.begin(), cluster.workers.end(),
                     [&](const WorkerProfile& worker) {
                       return worker.compute_rate != cluster.workers[0].compute_rate;
                     });
}

/// Where more than the ports alone can limit a shuffle, or where it is too large for the schedules
/// of a layer, an order that knows every limit is worth its time. Says which order a large plan
/// has: a small one has the better of both.
void Reorder(Best& best, double effort) {
  Plan& plan = best.plan;
  if (plan.transfers.empty()) return;
  const bool only_ports = plan.network.cuts.empty() && plan.network.port_slowdown.empty();
  const auto pairs = static_cast<double>(plan.transfers.size());
  if (only_ports && pairs <= kSchedulePairsMax) return;
  const std::int64_t work = SlackWorkFor(plan, effort * plan.summary.makespan_s);
  const SlackOrder order = SlackOrderWithin(plan, work);
  const bool whole = order == SlackOrder::kDispatched;
  std::string note = "Transfers go by the list rule";
  if (order == SlackOrder::kNone) {
    absl::StrAppend(&note, "; an order by slack of the ", plan.transfers.size(),
                    " of them would take longer to find than ",
                    ReadablePercent(effort * kPlanningPart), " of the job.");
    plan.summary.notes.push_back(std::move(note));
    return;
  }
  Plan reordered = plan;
  const Seconds before_s = plan.summary.makespan_s;
  const Seconds wanted_s = before_s * (1 - (whole ? 0 : kFinerGain));
  const absl::Status ordered = OrderBySlack(&reordered, work);
  if (ordered.ok() && reordered.summary.makespan_s < wanted_s) {
    plan = std::move(reordered);
    note = absl::StrCat("Transfers go by slack, ",
                        whole ? "dispatched one by one as ports and cuts fall free"
                              : "matched anew whenever one begins or ends",
                        "; by the list rule it would be ", ReadableSeconds(before_s), ".");
  } else {
    absl::StrAppend(&note, "; an order by slack was tried and is not better.");
  }
  if (pairs > kSlackTransfersMax) plan.summary.notes.push_back(std::move(note));
}

/// Why what was measured while all sent at once speaks against a way that has several at a time.
std::string TooManyResent(Seconds predicted_s, absl::string_view what, double resent) {
  return absl::StrCat(
      "Not taken, though it is predicted to take ", ReadableSeconds(predicted_s), ": ", what,
      ". While all fetched from all, it was measured, ", ReadablePercent(resent),
      " of all segments were sent again, which holds up whatever else uses these links; at most ",
      ReadablePercent(kResentMax), " may be.");
}

/// A way to move the sections of a split without an order.
struct Unordered {
  PieceOrder order = PieceOrder::kFetchAll;
  double share = 1;  // of a port's or cut's rate that transfers get together, at most
  double gain = 0;   // by how much it must end earlier than what is best so far
  const char* what = "";
};

/// Offers the best split once more, moved in that way: where sections are so small that a grant
/// each costs more than what order saves.
void TryUnordered(const JobShape& shape, const ClusterProfile& cluster, const Unordered& way,
                  Seconds ordered_s, Best& best) {
  if (best.plan.transfers.empty()) return;
  const Seconds wanted_s = best.plan.summary.makespan_s * (1 - way.gain);
  // The bound is cheap, sharing rates among thousands of flows is not.
  Plan slowed = best.plan;
  slowed.transfer_order = TransferOrder::kFetchAll;
  slowed.rates_over_time = false;
  for (Transfer& transfer : slowed.transfers) {
    transfer.rate_bytes_per_s = 0;
    transfer.rate_changes.clear();
  }
  slowed.network.seconds_per_byte /= way.share;
  const absl::StatusOr<Seconds> bound_s = OrderBound(slowed);
  if (!bound_s.ok() || *bound_s >= wanted_s) return;
  absl::StatusOr<Plan> plan =
      !best.split.shares.empty() ? AssembleSplit(shape, cluster, best.split, {}, way.order)
      : way.order == PieceOrder::kFetchAll
          ? FetchAllPlan(shape, cluster, 0)
          : RatesPlan(shape, cluster,
                      way.order == PieceOrder::kRates ? Rates::kStay : Rates::kOverTime);
  if (!plan.ok() || plan->summary.makespan_s >= wanted_s) return;
  const double resent = cluster.network.sharing_resent_fraction;
  if (resent > kResentMax) {
    best.plan.summary.notes.push_back(TooManyResent(plan->summary.makespan_s, way.what, resent));
    return;
  }
  plan->summary.notes.push_back(absl::StrCat(
      way.what, ": ", ReadableSeconds(plan->summary.makespan_s),
      "; in order, with a grant for each transfer, ", ReadableSeconds(ordered_s), "."));
  best.plan = *std::move(plan);
}

/// Only where the network is known: shares of a guess say nothing.
void TryWithoutOrder(const JobShape& shape, const ClusterProfile& cluster, Best& best) {
  const NetworkModel& network = cluster.network;
  const Seconds ordered_s = best.plan.summary.makespan_s;
  if (network.sharing_fraction > 0) {
    TryUnordered(shape, cluster,
                 {PieceOrder::kFetchAll,
                  network.cuts.empty() ? network.sharing_fraction
                                       : std::max(network.sharing_fraction, network.CutSharing()),
                  kFinerGain, "Receivers fetch from all senders at once"},
                 ordered_s, best);
  }
  // Last, since the reserve is held against whatever else there is.
  if (network.pacing_fraction > 0) {
    TryUnordered(shape, cluster,
                 {PieceOrder::kRates, network.pacing_fraction, kRatesReserve,
                  "Everything moves at once, each transfer at its share of ports and cuts"},
                 ordered_s, best);
    if (best.plan.transfers.size() > kOverTimeTriedMax) return;
    TryUnordered(
        shape, cluster,
        {PieceOrder::kRatesOverTime, network.pacing_fraction, kRatesReserve,
         "Everything moves as soon as it is there, at shares of ports and cuts that change "
         "as transfers begin and end"},
        ordered_s, best);
  }
}

/// Where a gap between two transfers of a port is known, offers the best order once more with ports
/// that carry some at a time, each of which loses its own part of the port by a gap.
void TryLanes(const Plan& ordered, Budget& budget, Best& best) {
  const NetworkModel& network = ordered.network;
  if (network.transfer_gap_s <= 0 || network.pacing_fraction <= 0) return;
  const auto transfers = static_cast<double>(ordered.transfers.size());
  if (transfers > kSchedulePairsMax || ordered.transfer_order != TransferOrder::kOvertake) return;
  const std::vector<std::int32_t> to_try = LanesToTry(ordered);
  const double pairs = kPairsALaning * static_cast<double>(to_try.size()) * transfers;
  if (to_try.empty() || !budget.Allows(pairs, best)) return;
  std::optional<Plan> plan = BestLanes(ordered, best.plan.summary.makespan_s);
  if (!plan) return;
  const std::string what = absl::StrCat("Each port carries ", plan->port_lanes,
                                        " transfers at a time, each paced at its share");
  if (network.sharing_resent_fraction > kResentMax) {
    best.plan.summary.notes.push_back(
        TooManyResent(plan->summary.makespan_s, what, network.sharing_resent_fraction));
    return;
  }
  plan->summary.notes.push_back(absl::StrCat(what, ": ", ReadableSeconds(plan->summary.makespan_s),
                                             "; one at a time, ",
                                             ReadableSeconds(ordered.summary.makespan_s), "."));
  best.plan = *std::move(plan);
}

}  // namespace

absl::StatusOr<Plan> LoadPlan(const JobShape& shape, const ClusterProfile& cluster, double effort) {
  absl::StatusOr<Plan> even = EvenPlan(shape, cluster);
  if (!even.ok()) return even;
  Best best{*std::move(even), {}};
  const std::vector<double> powers =
      UnequalWorkers(cluster) ? std::vector<double>{1, 0.5} : std::vector<double>{};
  Budget budget(effort);
  const std::vector<load::Chain> chains = ChainsOf(shape, cluster);
  SolvingBudget solving(
      std::max(kSolvingMin, effort * kPlanningPart * best.plan.summary.makespan_s), chains.size());
  for (const load::Chain& chain : chains) {
    absl::StatusOr<LoadSplit> split = SolveSplit(chain, solving);
    if (!split.ok()) continue;  // an empty input, or rates outside the model: the even split stands
    for (const Placement placement : {Placement::kTogether, Placement::kApart}) {
      PlaceSteps(cluster, placement, *split);
      for (const double power : powers) {
        TryOrders(shape, cluster, chain, WeightedByRate(*split, shape, cluster, power), budget,
                  best);
      }
      TryOrders(shape, cluster, chain, *split, budget, best);
    }
  }
  TryRacks(shape, cluster, budget, best);
  Reorder(best, effort);
  const Plan ordered = best.plan;
  TryWithoutOrder(shape, cluster, best);
  TryLanes(ordered, budget, best);
  PlanSummary& summary = best.plan.summary;
  summary.method = "load";
  summary.lower_bound_s = std::min(summary.makespan_s, JobLowerBound(shape, cluster));
  return std::move(best.plan);
}

}  // namespace weir::planner
