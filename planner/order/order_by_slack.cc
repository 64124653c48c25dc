#include "planner/order/order_by_slack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "planner/order/coalesce.h"
#include "planner/order/order_bound.h"
#include "planner/order/planning_effort.h"
#include "planner/order/slack_dispatch.h"
#include "planner/order/slack_schedule.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/plan_structure.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

// A plan this near to the bound is not worth another try.
constexpr double kNearBound = 1.005;
// What building and predicting a plan costs for each of its transfers, in steps of assignments.
constexpr std::int64_t kPredictWork = 10'000;
// A schedule costs at least that part of a plan, even when it leaves nothing to decide.
constexpr std::int64_t kSchedulesAPlan = 10;

// Each way to weigh slack once, before chance comes in (DispatchTuning): where all ports and cuts
// are tight at once, one of them may be 3 % shorter than another, and which is not known
// beforehand.
constexpr std::int64_t kDispatchesWithoutChance = 4;

/// The try-th tuning where transfers are dispatched: without chance first, then with more and more.
SlackTuning DispatchTuning(std::size_t number) {
  constexpr double kScales[kDispatchesWithoutChance] = {0.1, 0.02, 0.005, 0.4};
  constexpr double kNoises[] = {0, 0.3, 0.05, 1};
  const std::size_t round = number / std::size(kScales);
  return {.scale = kScales[number % std::size(kScales)],
          .whole = true,
          .noise = kNoises[round == 0 ? 0 : 1 + (round - 1) % (std::size(kNoises) - 1)],
          .seed = number};
}

/// Earliest finish of the steps of one layer, given when their inputs are there.
void FinishSteps(const Plan& plan, std::int32_t layer, std::vector<Seconds>& ready_s,
                 std::vector<Seconds>& finish_s) {
  for (const std::vector<StepIndex>& order : plan.compute_order) {
    Seconds free_s = 0;
    for (const StepIndex index : order) {
      const ComputeStep& step = plan.steps[At(index)];
      if (step.layer == layer) {
        Seconds start_s = std::max({free_s, step.release_s, ready_s[At(index)]});
        for (const StepIndex before : step.after_steps) {
          start_s = std::max(start_s, finish_s[At(before)]);
        }
        finish_s[At(index)] = start_s + step.duration_s;
      }
      if (step.layer <= layer) free_s = std::max(free_s, finish_s[At(index)]);
    }
  }
}

/// All pieces of all layers, in no order.
struct LayeredSchedule {
  std::vector<ScheduledPiece> pieces;
  Seconds end_s = 0;  // without latency
  std::int64_t work = 0;
};

using LayerScheduler = SlackSchedule (*)(const Plan&, std::vector<TransferIndex>,
                                         const std::vector<Seconds>&, const SlackTuning&);

LayeredSchedule ScheduleLayers(const Plan& plan, const SlackTuning& tuning,
                               LayerScheduler schedule_layer) {
  std::int32_t last_layer = 0;
  for (const ComputeStep& step : plan.steps) last_layer = std::max(last_layer, step.layer);
  std::vector<Seconds> input_s(plan.steps.size(), 0), finish_s(plan.steps.size(), 0);
  LayeredSchedule all;
  for (std::int32_t layer = 0; layer <= last_layer; ++layer) {
    FinishSteps(plan, layer, input_s, finish_s);
    std::vector<TransferIndex> transfers;
    for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
      if (plan.steps[At(plan.transfers[t].producer)].layer == layer) {
        transfers.push_back(static_cast<TransferIndex>(t));
      }
    }
    const SlackSchedule schedule = schedule_layer(plan, std::move(transfers), finish_s, tuning);
    all.work += schedule.work;
    for (const ScheduledPiece& piece : schedule.pieces) {
      Seconds& there_s = input_s[At(plan.transfers[At(piece.transfer)].consumer)];
      there_s = std::max(there_s, piece.start_s + piece.duration_s);
      all.pieces.push_back(piece);
    }
  }
  for (const Seconds finish : finish_s) all.end_s = std::max(all.end_s, finish);
  return all;
}

/// Replaces the transfers of the plan by these pieces of them; a transfer without one stays whole.
void CutTransfers(const std::vector<ScheduledPiece>& pieces, Plan* plan) {
  std::vector<std::vector<ScheduledPiece>> by_transfer(plan->transfers.size());
  // Pieces come in the order of their ends, so those of one transfer in the order of their starts.
  for (const ScheduledPiece& piece : pieces) by_transfer[At(piece.transfer)].push_back(piece);
  const std::vector<Transfer> whole = std::exchange(plan->transfers, {});
  for (ComputeStep& step : plan->steps) step.after_transfers.clear();
  for (std::size_t t = 0; t < whole.size(); ++t) {
    std::vector<ScheduledPiece>& own = by_transfer[t];
    if (own.empty()) own.push_back({static_cast<TransferIndex>(t), whole[t].start_s, 1});
    Seconds all_s = 0;
    for (const ScheduledPiece& piece : own) all_s += piece.duration_s;
    Seconds before_s = 0;
    Bytes offset = 0;
    for (std::size_t p = 0; p < own.size(); ++p) {
      before_s += own[p].duration_s;
      const Bytes end = p + 1 == own.size()
                            ? whole[t].bytes
                            : static_cast<Bytes>(std::llround(static_cast<double>(whole[t].bytes) *
                                                              before_s / all_s));
      if (end == offset && own.size() > 1 && !(p + 1 == own.size() && offset == 0)) continue;
      Transfer transfer = whole[t];
      transfer.offset += offset;
      transfer.bytes = end - offset;
      transfer.start_s = own[p].start_s;
      offset = end;
      plan->steps[At(transfer.consumer)].after_transfers.push_back(
          static_cast<TransferIndex>(plan->transfers.size()));
      plan->transfers.push_back(transfer);
    }
  }
}

/// The tunings to try, the likeliest first. Transfers that stay whole cost one grant each, so they
/// go first; which of them meet without gaps is a matter of luck, so they come with chance, and
/// again with more of it when cutting has not helped either.
class Tunings {
 public:
  Tunings() {
    for (std::uint64_t seed = 0; seed < kSeedsFirst; ++seed) AddWhole(seed);
    for (const double scale : {0.1, 0.02, 0.4}) {
      for (const double quantum : {1.0 / 48, 1.0 / 12}) {
        for (const double staying : {0.05, 0.5}) {
          tunings_.push_back(
              {.scale = scale, .whole = false, .quantum = quantum, .staying = staying});
        }
      }
    }
  }

  SlackTuning Next() {
    if (next_ == tunings_.size()) AddWhole(kSeedsFirst + rounds_++);
    return tunings_[next_++];
  }

 private:
  static constexpr std::uint64_t kSeedsFirst = 3;

  void AddWhole(std::uint64_t seed) {
    for (const double scale : {0.4, 0.1, 0.02}) {
      for (const double noise : {0.05, 0.3, 1.0}) {
        tunings_.push_back({.scale = scale, .whole = true, .noise = noise, .seed = seed});
      }
    }
  }

  std::vector<SlackTuning> tunings_;
  std::size_t next_ = 0;
  std::uint64_t rounds_ = 0;
};

/// Dispatches the transfers of a plan that is too large to match them, with several tunings.
absl::Status DispatchLarge(const Plan& whole, Seconds bound_s, std::int64_t work_max, Plan* plan) {
  if (SlackOrderWithin(whole, work_max) == SlackOrder::kNone) return absl::OkStatus();
  const std::int64_t try_work = DispatchWork(whole.transfers.size(), whole.network.num_workers);
  std::int64_t work = 0;
  for (std::size_t number = 0; plan->summary.makespan_s > kNearBound * bound_s; ++number) {
    work += try_work;
    if (work > work_max) break;
    const SlackTuning tuning = DispatchTuning(number);
    const LayeredSchedule schedule = ScheduleLayers(whole, tuning, &DispatchBySlack);
    if (schedule.end_s >= plan->summary.makespan_s) continue;
    Plan tried = whole;
    for (const ScheduledPiece& piece : schedule.pieces) {
      tried.transfers[At(piece.transfer)].start_s = piece.start_s;
    }
    if (absl::Status status = OrderByStart(&tried); !status.ok()) return status;
    if (tried.summary.makespan_s < plan->summary.makespan_s) *plan = std::move(tried);
  }
  return absl::OkStatus();
}

}  // namespace

std::int64_t SlackWorkFor(const Plan& plan, Seconds makespan_s) {
  const double work = kSlackWorkPerS * kPlanningPart * makespan_s;
  const bool matched = plan.transfers.size() <= static_cast<std::size_t>(kSlackTransfersMax);
  const std::int64_t one_dispatch =
      matched ? 0 : DispatchWork(plan.transfers.size(), plan.network.num_workers);
  const std::int64_t some_dispatches =
      std::max(one_dispatch, std::min(kDispatchesWithoutChance * one_dispatch, kDispatchWorkMax));
  return static_cast<std::int64_t>(
      std::min(work, static_cast<double>(std::max(kSlackWorkMax, some_dispatches))));
}

SlackOrder SlackOrderWithin(const Plan& plan, std::int64_t work_max) {
  if (plan.transfers.size() <= static_cast<std::size_t>(kSlackTransfersMax)) {
    return work_max >= 0 ? SlackOrder::kMatched : SlackOrder::kNone;
  }
  const auto workers = std::int64_t{plan.network.num_workers};
  const bool fits = workers * workers <= kDispatchPairsMax &&
                    DispatchWork(plan.transfers.size(), plan.network.num_workers) <= work_max;
  return fits ? SlackOrder::kDispatched : SlackOrder::kNone;
}

absl::Status OrderBySlack(Plan* plan, std::int64_t work_max, Seconds shortest_s) {
  if (absl::Status status = CheckItems(*plan); !status.ok()) return status;
  const Plan whole = *plan;
  if (absl::Status status = OrderByPriority(plan); !status.ok()) return status;
  const absl::StatusOr<Seconds> bound_s = OrderBound(whole);
  if (!bound_s.ok()) return bound_s.status();
  if (whole.transfers.size() > static_cast<std::size_t>(kSlackTransfersMax)) {
    return DispatchLarge(whole, *bound_s, work_max, plan);
  }
  if (whole.transfers.empty()) return absl::OkStatus();
  Tunings tunings;
  const std::int64_t predict_work =
      kPredictWork * static_cast<std::int64_t>(whole.transfers.size());
  std::int64_t work = 0;
  // Ends of the best schedules so far: one of pieces may be early and yet lose by its grants, so it
  // must not keep later ones of whole transfers from being tried.
  Seconds whole_end_s = std::numeric_limits<Seconds>::infinity();
  Seconds cut_end_s = std::numeric_limits<Seconds>::infinity();
  while (work <= work_max && plan->summary.makespan_s > kNearBound * *bound_s) {
    const SlackTuning tuning = tunings.Next();
    const LayeredSchedule schedule = ScheduleLayers(whole, tuning, &ScheduleBySlack);
    work += schedule.work + predict_work / kSchedulesAPlan;
    const double wanted = tuning.whole ? 1 : 1 - kFinerGain;
    const Seconds to_beat_s =
        tuning.whole ? whole_end_s : std::min(whole_end_s * wanted, cut_end_s);
    if (schedule.end_s >= to_beat_s) continue;
    (tuning.whole ? whole_end_s : cut_end_s) = schedule.end_s;
    Plan tried = whole;
    CutTransfers(schedule.pieces, &tried);
    if (!tuning.whole) CoalescePieces(shortest_s, &tried);
    if (absl::Status status = OrderByStart(&tried); !status.ok()) return status;
    if (tried.summary.makespan_s < plan->summary.makespan_s * wanted) *plan = std::move(tried);
    work += predict_work;
  }
  return absl::OkStatus();
}

}  // namespace weir::planner
