// Properties of plans whose ports carry some transfers at a time: feasible by CheckPlan and by a
// sweep that knows nothing of it, every byte once, predicted as a naive simulation has it, without
// gaps no later than the order that they are made of; and RateRoom against a table.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "planner/job/builders/plan_job.h"
#include "planner/order/coalesce.h"
#include "planner/order/lanes/order_by_lanes.h"
#include "planner/order/order_bound.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/predict/rate_room.h"
#include "planner/plan/units.h"
#include "tests/unit/planner_job/random_job.h"
#include "tests/unit/planner_job/rated_shuffles.h"

namespace weir::planner {
namespace {

/// From each producer to each consumer: the ranges of its transfers follow each other from 0 on.
void ExpectEveryByteOnce(const Plan& plan) {
  std::map<std::pair<StepIndex, StepIndex>, std::vector<std::pair<Bytes, Bytes>>> pieces;
  for (const Transfer& transfer : plan.transfers) {
    pieces[{transfer.producer, transfer.consumer}].push_back(
        {transfer.offset, transfer.offset + transfer.bytes});
  }
  for (const Section& section : plan.sections) {
    if (plan.steps[At(section.producer)].worker == plan.steps[At(section.consumer)].worker)
      continue;
    auto& own = pieces[{section.producer, section.consumer}];
    std::sort(own.begin(), own.end());
    Bytes covered = 0;
    for (const auto& [begin, end] : own) {
      RC_ASSERT(begin == covered);
      covered = end;
    }
    RC_ASSERT(covered == section.bytes);
  }
}

Plan DrawOrdered(const std::function<Seconds()>& ready_s, std::int32_t workers_max = 6) {
  Plan plan = DrawShuffle(ready_s, workers_max);
  plan.network.transfer_gap_s = *rc::gen::element(0.0, 0.02, 0.3);
  RC_ASSERT(OrderByPriority(&plan).ok());
  return plan;
}

std::int32_t DrawLanes() { return *rc::gen::element(2, 2, 2, 3, 4); }

RC_GTEST_PROP(LanesProperty, AnyShuffleIsFeasibleAndMovesEveryByteOnce, ()) {
  Plan plan = DrawOrdered([] { return *rc::gen::element(0.5, 1.0, 1.7); });
  const auto lanes = DrawLanes();
  const absl::StatusOr<std::int32_t> windows = OrderByLanes(lanes, &plan);
  RC_LOG() << windows.status() << "\n";
  RC_ASSERT(windows.ok());
  RC_ASSERT(plan.port_lanes == (*windows > 1 ? lanes : 0));
  const absl::Status checked = CheckPlan(plan);
  RC_LOG() << checked << "\n";
  RC_ASSERT(checked.ok());
  ExpectRatesFit(plan);
  ExpectEveryByteOnce(plan);
  RC_ASSERT(*OrderBound(plan) <= plan.summary.makespan_s * (1 + 1e-9));
  RC_TAG(*windows);
}

// Also of several layers, with a store, chunks that cannot be cut, and whatever else a job has.
RC_GTEST_PROP(LanesProperty, AnyPlanIsFeasible, ()) {
  const RandomJob job = DrawJob(JobKind::kAny);
  absl::StatusOr<Plan> plan = PlanJob(job.shape, job.cluster, PlanningOptions{PlanMethod::kEven});
  RC_ASSERT(plan.ok());
  RC_SUCCEED_IF(job.cluster.network.seconds_per_byte == 0);
  const Plan ordered = *plan;
  // Ports of these networks may carry a byte a second.
  const absl::StatusOr<std::int32_t> windows = OrderByLanes(DrawLanes(), &*plan);
  if (!windows.ok()) {
    RC_ASSERT(absl::IsFailedPrecondition(windows.status()));
    RC_ASSERT(plan->transfer_order == ordered.transfer_order);
    plan->transfer_order = TransferOrder::kRates;
    plan->port_lanes = DrawLanes();
    const absl::Status rest = OrderRestByLanes(0, &*plan);
    RC_LOG() << rest << "\n";
    RC_ASSERT(rest.ok());
  }
  const absl::Status checked = CheckPlan(*plan);
  RC_LOG() << checked << "\n";
  RC_ASSERT(checked.ok());
  ExpectRatesFit(*plan);
  ExpectEveryByteOnce(*plan);
}

RC_GTEST_PROP(LanesProperty, NaiveSimulationAgrees, ()) {
  Plan plan = DrawOrdered([] { return *rc::gen::element(0.5, 1.0, 1.7); }, 4);
  RC_ASSERT(OrderByLanes(DrawLanes(), &plan).ok());
  ExpectNaiveSimulationAgrees(std::move(plan));
}

RC_GTEST_PROP(LanesProperty, OneLaneIsTheOrder, ()) {
  Plan plan = DrawOrdered([] { return *rc::gen::element(0.5, 1.0, 1.7); });
  const Plan before = plan;
  RC_ASSERT(OrderByLanes(1, &plan).ok());
  RC_ASSERT(plan.transfer_order == before.transfer_order);
  RC_ASSERT(plan.port_lanes == 0);
  RC_ASSERT(plan.send_order == before.send_order);
  RC_ASSERT(plan.receive_order == before.receive_order);
  RC_ASSERT(plan.channel_order == before.channel_order);
  RC_ASSERT(plan.summary.makespan_s == before.summary.makespan_s);
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    RC_ASSERT(plan.transfers[t].start_s == before.transfers[t].start_s);
    RC_ASSERT(plan.transfers[t].offset == before.transfers[t].offset);
    RC_ASSERT(plan.transfers[t].bytes == before.transfers[t].bytes);
    RC_ASSERT(plan.transfers[t].rate_bytes_per_s == 0);
  }
}

// At a border each port and each lane of a cut has one transfer of which nothing is cut off that
// takes less than kShortestGrantS at its part of a port; so a window takes that much longer than in
// the order, at both ends.
RC_GTEST_PROP(LanesProperty, WithoutGapsOneWaveIsNoLaterThanTheOrderButForItsBorders, ()) {
  Plan plan = DrawShuffle([] { return 1.0; });
  plan.network.latency_s = 0;
  RC_ASSERT(OrderByPriority(&plan).ok());
  const Seconds ordered_s = plan.summary.makespan_s;
  const auto lanes = DrawLanes();
  const absl::StatusOr<std::int32_t> windows = OrderByLanes(lanes, &plan);
  RC_ASSERT(windows.ok());
  RC_LOG() << "in order " << ordered_s << " s, by lanes " << plan.summary.makespan_s << " s in "
           << *windows << " windows\n";
  // Whole transfers are kept where cutting them would gain less than a hundredth.
  RC_ASSERT(plan.summary.makespan_s <= (ordered_s + *windows * 2 * kShortestGrantS / lanes) / 0.99);
  RC_TAG(plan.summary.makespan_s <= ordered_s);
}

/// What RateRoom should let begin, from its description: one after the other, everything summed up
/// anew.
class RoomTable {
 public:
  explicit RoomTable(const Plan& plan) : plan_(plan) {}

  std::set<TransferIndex> waits, moves, expected;

  std::vector<TransferIndex> TakeStartable() {
    std::vector<TransferIndex> begun;
    const std::set<TransferIndex> all = waits;
    for (const TransferIndex t : all) {
      if (!Fits(t)) continue;
      waits.erase(t);
      moves.insert(t);
      begun.push_back(t);
    }
    return begun;
  }

 private:
  bool Fits(TransferIndex t) const {
    const Transfer& transfer = plan_.transfers[At(t)];
    for (std::size_t r = 0; r < NumResources(plan_); ++r) {
      if (!Uses(plan_, transfer, r)) continue;
      double together = transfer.rate_bytes_per_s;
      const auto add = [&](TransferIndex other) {
        const Transfer& beside = plan_.transfers[At(other)];
        if (Uses(plan_, beside, r)) together += beside.rate_bytes_per_s;
      };
      for (const TransferIndex other : moves) add(other);
      for (const auto& before : {waits, expected}) {
        for (const TransferIndex other : before) {
          if (other < t) add(other);
        }
      }
      if (together > Carries(plan_, r) * (1 + 1e-9)) return false;
    }
    return true;
  }

  const Plan& plan_;
};

RC_GTEST_PROP(LanesProperty, RateRoomKeepsPlacesAndNeverOverbooks, ()) {
  Plan plan = DrawShuffle([] { return 1.0; });
  RC_ASSERT(OrderByRates(&plan).ok());
  plan.port_lanes = 2;
  for (Transfer& transfer : plan.transfers) {
    const double most = std::min(Carries(plan, At(transfer.sender)),
                                 Carries(plan, At(plan.network.num_workers + transfer.receiver)));
    transfer.rate_bytes_per_s = most * *rc::gen::element(0.09, 0.2, 0.31, 0.45, 0.62, 1.0);
  }
  RateRoom room(plan);
  RoomTable table(plan);
  std::set<TransferIndex> left;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t)
    left.insert(static_cast<TransferIndex>(t));
  const auto draw_of = [](const std::set<TransferIndex>& from) {
    return *std::next(from.begin(), *rc::gen::inRange<std::ptrdiff_t>(
                                        0, static_cast<std::ptrdiff_t>(from.size())));
  };
  for (int turn = 0; turn < 40; ++turn) {
    for (int changes = *rc::gen::inRange(1, 4); changes > 0; --changes) {
      const int what = *rc::gen::inRange(0, 6);
      if (what == 5 && !left.empty()) {
        const TransferIndex t = draw_of(left);
        room.Expect(t);
        table.expected.insert(t);
      } else if (what < 2 && !left.empty()) {
        const TransferIndex t = draw_of(left);
        left.erase(t);
        room.Wait(t);
        table.waits.insert(t);
        table.expected.erase(t);
      } else if (what < 4 && !table.moves.empty()) {
        const TransferIndex t = draw_of(table.moves);
        table.moves.erase(t);
        room.End(t);
        if (*rc::gen::arbitrary<bool>()) left.insert(t);  // it failed
      } else if (!table.waits.empty()) {
        const TransferIndex t = draw_of(table.waits);
        table.waits.erase(t);
        room.Withdraw(t);
        left.insert(t);
      }
    }
    if (*rc::gen::inRange(0, 20) == 0) {
      room.ForgetExpected();
      table.expected.clear();
    }
    RC_ASSERT(room.TakeStartable() == table.TakeStartable());
  }
}

}  // namespace
}  // namespace weir::planner
