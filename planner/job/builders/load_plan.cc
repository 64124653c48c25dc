#include "planner/job/builders/load_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/explain/readable.h"
#include "planner/job/builders/even_plan.h"
#include "planner/job/job_bound.h"
#include "planner/job/job_drafts.h"
#include "planner/job/map_chunks.h"
#include "planner/job/store_steps.h"
#include "planner/load/chain.h"
#include "planner/load/choose_counts.h"
#include "planner/load/plan_pieces.h"
#include "planner/order/coalesce.h"
#include "planner/order/order_bound.h"
#include "planner/order/order_by_slack.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/planning_effort.h"
#include "planner/order/transfer_orders.h"

namespace weir::planner {
namespace {

using load::Chain;
using load::ChainSolution;

// Above this many pairs in a layer only one transfer a pair is ordered, by list.
constexpr double kSchedulePairsMax = 10000;
// Time of one pair in one plan that is tried.
constexpr Seconds kPlanSecondsPerPair = 4e-6;
// The model needs positive costs. A cost of zero becomes this part of the map rate; predictions use
// the real ones.
constexpr double kFreePart = 1e-9;

/// How the transfers of an assembled plan are ordered.
enum class Order { kRotation, kPairsByList, kPairsByStart, kPieces, kFetchAll };

/// What is assembled: shares of the load by layer, [0] for mappers, and the worker of each step.
struct Split {
  std::vector<std::vector<double>> shares;
  std::vector<std::vector<WorkerIndex>> workers;
};

/// Where the reducers of layers with fewer steps than workers go. Mappers go to the fastest
/// workers.
enum class Placement {
  kApart,     // from the slowest on, so that few of both share none
  kTogether,  // to the mappers' workers, so that data stays in place
};

/// The chain's mappers are linear: their ratio is that of an even chunk.
void SetOutputRatio(const JobShape& shape, Chain& chain) {
  chain.map_output_ratio = MapOutputRatio(shape, chain.input_bytes / chain.num_mappers);
}

Chain ChainOf(const JobShape& shape, const ClusterProfile& cluster) {
  const double map_rate = shape.map_seconds_per_byte.value;
  const std::int32_t workers = cluster.network.num_workers;
  const double pacing = cluster.network.pacing_fraction > 0 ? cluster.network.pacing_fraction : 1;
  Chain chain;
  chain.num_mappers = shape.num_mappers > 0 ? shape.num_mappers : MappersMax(shape, workers);
  chain.input_bytes = static_cast<double>(shape.input_bytes);
  chain.map_seconds_per_byte = map_rate;
  chain.map_startup_s = shape.map_startup_s.value;
  SetOutputRatio(shape, chain);
  chain.channels = EffectiveChannels(cluster.network);
  chain.channel_seconds_per_byte =
      std::max(kFreePart * map_rate,
               cluster.network.seconds_per_byte / pacing * (1 - 1.0 / std::max(2, workers)));
  for (const LayerShape& layer : shape.layers) {
    chain.reducers.push_back({layer.num_reducers > 0 ? layer.num_reducers : workers,
                              std::max(kFreePart * map_rate, layer.reduce_seconds_per_byte.value),
                              layer.startup_s.value, layer.output_ratio.value,
                              load::ReduceCurve::kLinear});
  }
  SetFinalStore(shape.store, cluster.network, chain);
  return chain;
}

load::CountLimits LimitsOf(const JobShape& shape, const Chain& chain) {
  load::CountLimits limits;
  limits.counts_max.push_back(chain.num_mappers);
  limits.fixed.push_back(shape.num_mappers > 0);
  for (std::size_t p = 0; p < chain.reducers.size(); ++p) {
    limits.counts_max.push_back(chain.reducers[p].num_reducers);
    limits.fixed.push_back(shape.layers[p].num_reducers > 0);
  }
  return limits;
}

std::vector<WorkerIndex> FastestFirst(const ClusterProfile& cluster) {
  std::vector<WorkerIndex> workers =
      WorkersInTurn(cluster.network.num_workers, cluster.network.num_workers);
  std::stable_sort(workers.begin(), workers.end(), [&](WorkerIndex a, WorkerIndex b) {
    return cluster.workers[static_cast<std::size_t>(a)].compute_rate >
           cluster.workers[static_cast<std::size_t>(b)].compute_rate;
  });
  return workers;
}

void Place(const ClusterProfile& cluster, Placement placement, Split& split) {
  const std::vector<WorkerIndex> fastest = FastestFirst(cluster);
  split.workers.clear();
  for (std::size_t p = 0; p < split.shares.size(); ++p) {
    const std::size_t count = split.shares[p].size();
    const bool from_end = p > 0 && count < fastest.size() && placement == Placement::kApart;
    const std::size_t first = from_end ? fastest.size() - count : 0;
    split.workers.emplace_back();
    for (std::size_t k = 0; k < count; ++k)
      split.workers.back().push_back(fastest[(first + k) % fastest.size()]);
  }
}

/// Makes each share proportional to this power of its worker's rate as well: 1 where computing
/// limits, less where the ports, which are alike, limit as well.
Split WeightedByRate(Split split, const ClusterProfile& cluster, double power) {
  for (std::size_t p = 0; p < split.shares.size(); ++p) {
    std::vector<double>& shares = split.shares[p];
    double sum = 0;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      const auto worker = static_cast<std::size_t>(split.workers[p][k]);
      shares[k] *= std::pow(cluster.workers[worker].compute_rate, power);
      sum += shares[k];
    }
    for (double& share : shares) share /= sum;
  }
  return split;
}

/// Makes the mappers' shares those of chunks that the input has. A mapper whose chunk is empty is
/// left out, unless their number was asked for; the largest chunk then goes to the first worker.
Split FittedToInput(Split split, const JobShape& shape) {
  if (shape.uncut.empty()) return split;
  std::vector<Bytes> chunks = MapChunks(shape, split.shares[0]);
  if (shape.num_mappers == 0) {
    std::erase(chunks, 0);
    std::vector<std::size_t> largest_first(chunks.size());
    std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
    std::stable_sort(largest_first.begin(), largest_first.end(),
                     [&](std::size_t a, std::size_t b) { return chunks[a] > chunks[b]; });
    std::vector<WorkerIndex> workers(chunks.size());
    for (std::size_t rank = 0; rank < chunks.size(); ++rank)
      workers[largest_first[rank]] = split.workers[0][rank];
    split.workers[0] = std::move(workers);
  }
  split.shares[0].clear();
  for (const Bytes chunk : chunks) {
    split.shares[0].push_back(static_cast<double>(chunk) / static_cast<double>(shape.input_bytes));
  }
  return split;
}

/// One schedule a layer but the last, with the seconds of its unit and its begin.
struct TimedSchedule {
  load::LayerSchedule schedule;
  Seconds time_unit_s = 0;
  Seconds begin_s = 0;
};

absl::StatusOr<std::vector<TimedSchedule>> SchedulesOf(const Chain& chain, const Split& split) {
  std::vector<TimedSchedule> schedules;
  Seconds begin_s = 0;
  for (std::size_t p = 0; p + 1 < split.shares.size(); ++p) {
    const absl::StatusOr<load::ScaledLayer> layer =
        load::ScaleLayer(load::LayerOfChain(chain, p, split.shares[p + 1]));
    if (!layer.ok()) return layer.status();
    absl::StatusOr<load::LayerSchedule> schedule = load::ScheduleLayer(*layer, split.shares[p], {});
    if (!schedule.ok()) return schedule.status();
    schedules.push_back({*std::move(schedule), layer->time_unit_s, begin_s});
    begin_s += schedules.back().schedule.makespan * layer->time_unit_s;
  }
  return schedules;
}

class Assembler {
 public:
  Assembler(const JobShape& shape, const ClusterProfile& cluster)
      : shape_(shape), cluster_(cluster) {}

  /// `schedules` may be empty for the rotation.
  absl::StatusOr<Plan> Build(const Split& split, const std::vector<TimedSchedule>& schedules,
                             Order order) const {
    PlanAssembly assembly(cluster_.network);
    const absl::StatusOr<std::vector<MapperDraft>> mappers =
        DraftMappers(shape_, cluster_, MapChunks(shape_, split.shares[0]), split.workers[0]);
    if (!mappers.ok()) return mappers.status();
    if (absl::Status status = assembly.AddMappers(*mappers); !status.ok()) return status;
    LayerDraft layer;  // the one added last
    for (std::size_t p = 1; p < split.shares.size(); ++p) {
      layer = DraftReducers(shape_.layers[p - 1], cluster_, split.shares[p], split.workers[p]);
      if (absl::Status status = assembly.AddReducers(layer, Pieces(split, schedules, order, p));
          !status.ok()) {
        return status;
      }
    }
    const Seconds store_begin_s =
        schedules.empty() ? 0
                          : schedules.back().begin_s +
                                schedules.back().schedule.makespan * schedules.back().time_unit_s;
    if (absl::Status status = AddStoreSteps(shape_.store, layer, store_begin_s, assembly);
        !status.ok()) {
      return status;
    }
    Plan plan = assembly.TakePlan();
    if (absl::Status status = OrderTransfers(order, plan); !status.ok()) return status;
    if (absl::Status status = LimitStore(shape_.store, plan); !status.ok()) return status;
    return plan;
  }

 private:
  static absl::Status OrderTransfers(Order order, Plan& plan) {
    if (order == Order::kFetchAll) return OrderFetchAll(&plan);
    const bool by_start = order == Order::kPieces || order == Order::kPairsByStart;
    return by_start ? OrderByStart(&plan) : OrderByPriority(&plan);
  }

  static std::vector<PieceDraft> Pieces(const Split& split,
                                        const std::vector<TimedSchedule>& schedules, Order order,
                                        std::size_t p) {
    if (order == Order::kRotation || order == Order::kFetchAll) {
      return RotationPieces(static_cast<std::int32_t>(split.shares[p - 1].size()),
                            static_cast<std::int32_t>(split.shares[p].size()));
    }
    const TimedSchedule& timed = schedules[p - 1];
    return order == Order::kPieces
               ? load::DraftPieces(timed.schedule, timed.time_unit_s, timed.begin_s,
                                   kShortestGrantS)
               : load::DraftPairs(timed.schedule, timed.time_unit_s, timed.begin_s);
  }

  const JobShape& shape_;
  const ClusterProfile& cluster_;
};

/// Largest number of pairs in a layer.
double PairsMax(const Split& split) {
  double pairs = 0;
  for (std::size_t p = 0; p + 1 < split.shares.size(); ++p) {
    pairs = std::max(pairs, static_cast<double>(split.shares[p].size()) *
                                static_cast<double>(split.shares[p + 1].size()));
  }
  return pairs;
}

/// Number of pairs in all layers.
double PairsOf(const Split& split) {
  double pairs = 0;
  for (std::size_t p = 0; p + 1 < split.shares.size(); ++p) {
    pairs += static_cast<double>(split.shares[p].size()) *
             static_cast<double>(split.shares[p + 1].size());
  }
  return pairs;
}

/// The plan that is predicted to end first so far, and its split; an empty one is the even split.
struct Best {
  Plan plan;
  Split split;
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
void TryOrders(const Assembler& assembler, const JobShape& shape, Chain chain, const Split& solved,
               Budget& budget, Best& best) {
  const Split split = FittedToInput(solved, shape);
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
  offer(assembler.Build(split, {}, Order::kRotation), 0);
  // The schedules cost about as much as a plan.
  if (PairsMax(split) > kSchedulePairsMax || !budget.Allows(pairs, best)) return;
  const absl::StatusOr<std::vector<TimedSchedule>> schedules = SchedulesOf(chain, split);
  if (!schedules.ok()) return;  // the rotation stands
  for (const Order order : {Order::kPairsByList, Order::kPairsByStart, Order::kPieces}) {
    if (!budget.Allows(pairs, best)) return;
    offer(assembler.Build(split, *schedules, order), order == Order::kPieces ? kFinerGain : 0);
  }
}

/// Loads of a chain as the whole-chain method sets them; no value when the numbers are outside the
/// model.
absl::StatusOr<Split> SolveSplit(const Chain& chain) {
  const absl::StatusOr<ChainSolution> solution = load::SolveChain(chain, load::LayerMethod::kFast);
  if (!solution.ok()) return solution.status();
  Split split;
  for (const load::LayerSolution& layer : solution->layers) split.shares.push_back(layer.share);
  return split;
}

bool UnequalWorkers(const ClusterProfile& cluster) {
  return std::any_of(cluster.workers.begin(), cluster.workers.end(),
                     [&](const WorkerProfile& worker) {
                       return worker.compute_rate != cluster.workers[0].compute_rate;
                     });
}

std::int32_t& CountOf(Chain& chain, std::size_t p) {
  return p == 0 ? chain.num_mappers : chain.reducers[p - 1].num_reducers;
}

/// The chains worth solving, the cheapest to try first: one, two, four, ... workers, because data
/// that stays on its worker does not move; as many as the chain itself chooses; every worker used.
std::vector<Chain> ChainsOf(const JobShape& shape, const ClusterProfile& cluster) {
  const Chain all = ChainOf(shape, cluster);
  const load::CountLimits limits = LimitsOf(shape, all);
  std::vector<Chain> chains;
  for (std::int32_t count = 1; count < cluster.network.num_workers; count *= 2) {
    Chain few = all;
    for (std::size_t p = 0; p < limits.fixed.size(); ++p) {
      if (!limits.fixed[p]) CountOf(few, p) = count;
    }
    SetOutputRatio(shape, few);
    chains.push_back(std::move(few));
  }
  absl::StatusOr<Chain> chosen = load::ChooseCounts(all, limits);
  if (chosen.ok()) chains.push_back(*std::move(chosen));
  chains.push_back(all);
  return chains;
}

/// Where more than the ports alone can limit a shuffle, an order that knows every limit is worth
/// its time.
void Reorder(Plan& best, double effort) {
  if (best.network.cuts.empty() && best.network.port_slowdown.empty()) return;
  Plan reordered = best;
  const absl::Status ordered =
      OrderBySlack(&reordered, SlackWorkFor(effort * best.summary.makespan_s));
  if (ordered.ok() && reordered.summary.makespan_s < best.summary.makespan_s * (1 - kFinerGain)) {
    best = std::move(reordered);
  }
}

/// Offers the best split once more, fetched from all senders at once: where sections are so small
/// that a grant each costs more than what order saves.
void TryFetchAll(const JobShape& shape, const ClusterProfile& cluster, const Assembler& assembler,
                 Best& best) {
  if (best.plan.transfers.empty()) return;
  const Seconds ordered_s = best.plan.summary.makespan_s;
  const Seconds wanted_s = ordered_s * (1 - kFinerGain);
  // The bound is cheap, sharing rates among thousands of flows is not.
  Plan slowed = best.plan;
  slowed.transfer_order = TransferOrder::kFetchAll;
  slowed.network.seconds_per_byte /= cluster.network.sharing_fraction;
  const absl::StatusOr<Seconds> bound_s = OrderBound(slowed);
  if (!bound_s.ok() || *bound_s >= wanted_s) return;
  absl::StatusOr<Plan> plan = best.split.shares.empty()
                                  ? FetchAllPlan(shape, cluster, 0)
                                  : assembler.Build(best.split, {}, Order::kFetchAll);
  if (!plan.ok() || plan->summary.makespan_s >= wanted_s) return;
  plan->summary.notes.push_back(absl::StrCat(
      "Receivers fetch from all senders at once: ", ReadableSeconds(plan->summary.makespan_s),
      "; in order, with a grant for each transfer, ", ReadableSeconds(ordered_s), "."));
  best.plan = *std::move(plan);
}

std::string ChangeText(const char* what, Seconds change_s, Seconds makespan_s) {
  if (std::abs(change_s) < 1e-4 * makespan_s) return absl::StrCat(what, " would change nothing");
  return absl::StrCat(what, change_s < 0 ? " would save " : " would cost ",
                      ReadableSeconds(std::abs(change_s)));
}

}  // namespace

absl::StatusOr<Plan> LoadPlan(const JobShape& shape, const ClusterProfile& cluster, double effort) {
  absl::StatusOr<Plan> even = EvenPlan(shape, cluster);
  if (!even.ok()) return even;
  Best best{*std::move(even), {}};
  const Assembler assembler(shape, cluster);
  const std::vector<double> powers =
      UnequalWorkers(cluster) ? std::vector<double>{1, 0.5} : std::vector<double>{};
  Budget budget(effort);
  for (const Chain& chain : ChainsOf(shape, cluster)) {
    absl::StatusOr<Split> split = SolveSplit(chain);
    if (!split.ok()) continue;  // an empty input, or rates outside the model: the even split stands
    for (const Placement placement : {Placement::kTogether, Placement::kApart}) {
      Place(cluster, placement, *split);
      for (const double power : powers) {
        TryOrders(assembler, shape, chain, WeightedByRate(*split, cluster, power), budget, best);
      }
      TryOrders(assembler, shape, chain, *split, budget, best);
    }
  }
  Reorder(best.plan, effort);
  if (cluster.network.sharing_fraction > 0) TryFetchAll(shape, cluster, assembler, best);
  PlanSummary& summary = best.plan.summary;
  summary.method = "load";
  summary.lower_bound_s = std::min(summary.makespan_s, JobLowerBound(shape, cluster));
  return std::move(best.plan);
}

std::vector<std::string> OneMoreNotes(const JobShape& shape, const ClusterProfile& cluster,
                                      const Plan& plan) {
  Chain chain = ChainOf(shape, cluster);
  for (std::size_t p = 0; p <= chain.reducers.size(); ++p) CountOf(chain, p) = 0;
  for (const ComputeStep& step : plan.steps) {
    if (step.kind->stores) continue;
    ++CountOf(chain, static_cast<std::size_t>(step.layer));
  }
  SetOutputRatio(shape, chain);
  absl::StatusOr<load::OneMore> more = load::CompareOneMore(chain);
  if (!more.ok()) return {};
  if (LargestChunkIsUncut(shape, plan)) more->mapper_s = 0;
  const Seconds makespan_s = plan.summary.makespan_s;
  std::string note =
      absl::StrCat("By the model, ", ChangeText("one more mapper", more->mapper_s, makespan_s));
  for (std::size_t p = 0; p < more->reducer_s.size(); ++p) {
    const std::string layer = more->reducer_s.size() > 1
                                  ? absl::StrCat("one more reducer of layer ", p + 1)
                                  : "one more reducer";
    absl::StrAppend(&note, ", ", ChangeText(layer.c_str(), more->reducer_s[p], makespan_s));
  }
  absl::StrAppend(&note, ", ", ChangeText("one more channel", more->channel_s, makespan_s), ".");
  return {note};
}

}  // namespace weir::planner
