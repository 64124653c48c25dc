// Properties of every plan that PlanJob makes: feasible, predicted as planned, never below the
// bound, and confirmed by a naive simulation; and CheckPlan notices every way of spoiling one.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "planner/job/builders/plan_job.h"
#include "planner/order/order_bound.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "tests/unit/planner_job/random_job.h"
#include "tests/unit/planner_plan/cut_rates.h"
#include "tests/unit/planner_plan/naive_simulation.h"

namespace weir::planner {
namespace {

bool Near(double a, double b, double scale) { return std::abs(a - b) <= 1e-9 * (scale + 1e-300); }

Plan DrawPlan(JobKind kind = JobKind::kAny) {
  const RandomJob job = DrawJob(kind);
  absl::StatusOr<Plan> plan = PlanJob(job.shape, job.cluster, PlanningOptions{PlanMethod::kEven});
  RC_ASSERT(plan.ok());
  return *std::move(plan);
}

Plan DrawFetchAllPlan() {
  Plan plan = DrawPlan();
  RC_ASSERT(OrderFetchAll(&plan).ok());
  return plan;
}

void ExpectTimesAgree(const Prediction& prediction, const NaiveTimes& naive, double part) {
  const double scale = prediction.makespan_s * part;
  RC_ASSERT(std::abs(prediction.makespan_s - naive.makespan_s) <= scale);
  for (std::size_t i = 0; i < naive.steps.size(); ++i) {
    RC_ASSERT(std::abs(prediction.steps[i].start_s - naive.steps[i].start_s) <= scale);
  }
  for (std::size_t i = 0; i < naive.transfers.size(); ++i) {
    RC_ASSERT(std::abs(prediction.transfers[i].finish_s - naive.transfers[i].finish_s) <= scale);
  }
}

// What must hold of the critical path: it ends at the makespan, and each item starts when the one
// before it ends.
void ExpectPathExplainsMakespan(const Prediction& prediction) {
  if (prediction.steps.empty()) return;
  RC_ASSERT(!prediction.critical_path.empty());
  double before_s = -1;
  for (const Prediction::CriticalItem& item : prediction.critical_path) {
    const Interval& interval =
        item.is_transfer ? prediction.transfers[At(item.index)] : prediction.steps[At(item.index)];
    RC_ASSERT(before_s < 0 || Near(before_s, interval.start_s, prediction.makespan_s));
    before_s = interval.finish_s;
  }
  RC_ASSERT(Near(before_s, prediction.makespan_s, prediction.makespan_s));
}

RC_GTEST_PROP(PlanJobProperty, PlanIsFeasibleAndPredictedAsPlanned, ()) {
  const Plan plan = DrawPlan();
  RC_ASSERT(CheckPlan(plan) == absl::OkStatus());
  const absl::StatusOr<Prediction> prediction = Predict(plan);
  RC_ASSERT(prediction.ok());
  RC_ASSERT(Near(prediction->makespan_s, plan.summary.makespan_s, plan.summary.makespan_s));
  RC_ASSERT(plan.summary.lower_bound_s <= prediction->makespan_s * (1 + 1e-9));
  ExpectPathExplainsMakespan(*prediction);
}

RC_GTEST_PROP(PlanJobProperty, NoMoreCrossesACutThanItsChannels, ()) {
  const Plan plan = DrawPlan();
  const std::vector<double> most = MostAcrossCuts(plan, PlannedTransfers(plan));
  for (std::size_t cut = 0; cut < most.size(); ++cut) {
    RC_ASSERT(most[cut] <= plan.network.cuts[cut].channels * (1 + 1e-6));
  }
}

RC_GTEST_PROP(PlanJobProperty, NaiveSimulationAgrees, ()) {
  const Plan plan = DrawPlan();
  ExpectTimesAgree(*Predict(plan), SimulateNaively(plan), 1e-9);
}

RC_GTEST_PROP(PlanJobProperty, FetchAllIsFeasibleBoundedAndConfirmed, ()) {
  const Plan plan = DrawFetchAllPlan();
  RC_ASSERT(CheckPlan(plan) == absl::OkStatus());
  const absl::StatusOr<Prediction> prediction = Predict(plan);
  RC_ASSERT(prediction.ok());
  RC_ASSERT(*OrderBound(plan) <= prediction->makespan_s * (1 + 1e-9));
  ExpectPathExplainsMakespan(*prediction);
  ExpectTimesAgree(*prediction, SimulateNaively(plan), 1e-6);
}

RC_GTEST_PROP(PlanJobProperty, AFetchLimitIsKeptAndBounded, ()) {
  Plan plan = DrawPlan();
  const std::int32_t limit = *rc::gen::inRange(1, 6);
  RC_ASSERT(OrderFetchAll(&plan, limit).ok());
  const absl::Status checked = CheckPlan(plan);  // also that no receiver has more under way
  RC_LOG() << checked << "\n";
  RC_ASSERT(checked.ok());
  RC_ASSERT(*OrderBound(plan) <= plan.summary.makespan_s * (1 + 1e-9));
  ExpectPathExplainsMakespan(*Predict(plan));
  // A limit that nobody reaches changes nothing.
  Plan unlimited = plan;
  RC_ASSERT(OrderFetchAll(&plan, static_cast<std::int32_t>(plan.transfers.size()) + 1).ok());
  RC_ASSERT(OrderFetchAll(&unlimited).ok());
  RC_ASSERT(
      Near(plan.summary.makespan_s, unlimited.summary.makespan_s, unlimited.summary.makespan_s));
}

RC_GTEST_PROP(PlanJobProperty, NoRandomOrderBeatsTheBound, ()) {
  Plan plan = DrawPlan();
  const Seconds bound_s = *OrderBound(plan);
  for (Transfer& transfer : plan.transfers) {
    transfer.start_s = *rc::gen::inRange(0, 100) + 1000.0 * plan.steps[At(transfer.consumer)].layer;
  }
  RC_ASSERT(OrderByStart(&plan).ok());
  RC_ASSERT(CheckPlan(plan) == absl::OkStatus());
  RC_ASSERT(bound_s <= plan.summary.makespan_s * (1 + 1e-9));
}

RC_GTEST_PROP(PlanJobProperty, SameInputSamePlan, ()) {
  const RandomJob job = DrawJob(JobKind::kAny);
  const Plan a = *PlanJob(job.shape, job.cluster, PlanningOptions{PlanMethod::kEven});
  const Plan b = *PlanJob(job.shape, job.cluster, PlanningOptions{PlanMethod::kEven});
  RC_ASSERT(a.summary.makespan_s == b.summary.makespan_s);
  RC_ASSERT(a.send_order == b.send_order);
  RC_ASSERT(a.channel_order == b.channel_order);
}

void EraseFrom(std::vector<TransferIndex>* list, TransferIndex item) {
  list->erase(std::remove(list->begin(), list->end(), item), list->end());
}

// Takes the last transfer out of every place that names it.
void DropLastTransfer(Plan* plan) {
  const auto last = static_cast<TransferIndex>(plan->transfers.size()) - 1;
  const Transfer transfer = plan->transfers.back();
  plan->transfers.pop_back();
  EraseFrom(&plan->steps[At(transfer.consumer)].after_transfers, last);
  EraseFrom(&plan->send_order[At(transfer.sender)], last);
  EraseFrom(&plan->receive_order[At(transfer.receiver)], last);
  for (auto& channels : plan->channel_order) {
    for (auto& list : channels) EraseFrom(&list, last);
  }
}

RC_GTEST_PROP(SpoiledPlanProperty, DroppedTransferIsNoticed, ()) {
  Plan plan = DrawPlan(JobKind::kBusy);
  DropLastTransfer(&plan);
  RC_ASSERT(!CheckPlan(plan).ok());
}

RC_GTEST_PROP(SpoiledPlanProperty, SwappedOrderIsNoticed, ()) {
  Plan plan = DrawPlan(JobKind::kBusy);
  const std::size_t worker = *rc::gen::inRange<std::size_t>(0, plan.send_order.size());
  std::vector<TransferIndex>& list =
      *rc::gen::arbitrary<bool>() ? plan.send_order[worker] : plan.receive_order[worker];
  const std::size_t i = *rc::gen::inRange<std::size_t>(0, list.size() - 1);
  // Two empty transfers at one moment may go in either order.
  RC_PRE(plan.transfers[At(list[i])].duration_s + plan.transfers[At(list[i + 1])].duration_s > 0);
  std::swap(list[i], list[i + 1]);
  RC_ASSERT(!CheckPlan(plan).ok());
}

RC_GTEST_PROP(SpoiledPlanProperty, EarlierTransferIsNoticed, ()) {
  // Planned starts are earliest starts: whatever does not start at 0 waits for something.
  Plan plan = DrawPlan(JobKind::kBusy);
  Transfer& transfer = plan.transfers[*rc::gen::inRange<std::size_t>(0, plan.transfers.size())];
  const double shift_s = 1e-6 * plan.summary.makespan_s;
  RC_PRE(shift_s > 0 && transfer.start_s > shift_s);
  transfer.start_s -= shift_s;
  RC_ASSERT(!CheckPlan(plan).ok());
}

RC_GTEST_PROP(SpoiledPlanProperty, ChangedBytesAreNoticed, ()) {
  Plan plan = DrawPlan(JobKind::kBusy);
  Transfer& transfer = plan.transfers[*rc::gen::inRange<std::size_t>(0, plan.transfers.size())];
  transfer.bytes += *rc::gen::element<Bytes>(-1, 1, 1000);
  RC_ASSERT(!CheckPlan(plan).ok());
}

RC_GTEST_PROP(SpoiledPlanProperty, ExceededCutIsNoticed, ()) {
  // A plan for an open network, held against a cut that two of its concurrent transfers cross.
  RandomJob job = DrawJob(JobKind::kBusy);
  job.cluster.network.cuts.clear();
  Plan plan = *PlanJob(job.shape, job.cluster, PlanningOptions{PlanMethod::kEven});
  std::vector<TransferIndex> by_start(plan.transfers.size());
  for (std::size_t i = 0; i < by_start.size(); ++i) by_start[i] = static_cast<TransferIndex>(i);
  std::stable_sort(by_start.begin(), by_start.end(), [&](TransferIndex a, TransferIndex b) {
    return plan.transfers[At(a)].start_s < plan.transfers[At(b)].start_s;
  });
  bool overlap = false;
  for (std::size_t i = 1; i < by_start.size(); ++i) {
    const Transfer& before = plan.transfers[At(by_start[i - 1])];
    const Transfer& after = plan.transfers[At(by_start[i])];
    overlap = overlap ||
              after.start_s + 1e-6 * plan.summary.makespan_s < before.start_s + before.duration_s;
  }
  RC_PRE(overlap);
  plan.network.cuts = LimitedTotal(plan.network.num_workers, 1, 1).cuts;
  plan.channel_order = {{by_start}};
  RC_ASSERT(!CheckPlan(plan).ok());
}

RC_GTEST_PROP(SpoiledPlanProperty, GarbageNeverCrashes, ()) {
  // Any number anywhere: an answer, not a crash. Sanitizer builds make this a hunt.
  Plan plan = DrawPlan();
  const int hits = *rc::gen::inRange(1, 6);
  for (int hit = 0; hit < hits; ++hit) {
    const auto number = *rc::gen::element<std::int64_t>(-1, 0, 1, 5, 1'000'000'000, -2'000'000'000);
    const auto index = static_cast<std::int32_t>(number);
    const auto real = *rc::gen::element(-1.0, 0.0, 1e300, 1e100, std::nan(""), HUGE_VAL, 0.5);
    ComputeStep& step = plan.steps[*rc::gen::inRange<std::size_t>(0, plan.steps.size())];
    switch (*rc::gen::inRange(0, 12)) {
      case 0:
        step.worker = index;
        break;
      case 1:
        step.layer = index;
        break;
      case 2:
        step.index_in_layer = index;
        break;
      case 3:
        step.after_steps.push_back(index);
        break;
      case 4:
        step.after_transfers.push_back(index);
        break;
      case 5:
        step.duration_s = real;
        break;
      case 6:
        step.key_end = real;
        break;
      case 7:
        plan.network.num_workers = index;
        break;
      case 8:
        plan.network.seconds_per_byte = real;
        break;
      case 9:
        plan.compute_order[0].push_back(index);
        break;
      case 10:
        plan.sections.push_back({index, 0, number});
        break;
      default:
        if (!plan.transfers.empty()) {
          Transfer& transfer = plan.transfers.back();
          transfer.producer = *rc::gen::element(index, transfer.producer);
          transfer.bytes = number;
          transfer.start_s = real;
        }
    }
  }
  plan.transfer_order = *rc::gen::element(TransferOrder::kOvertake, TransferOrder::kFetchAll);
  (void)CheckPlan(plan).ok();
  (void)Predict(plan).ok();
  (void)OrderBound(plan).ok();
  (void)OrderByPriority(&plan).ok();
}

}  // namespace
}  // namespace weir::planner
