#include "planner/order/slack_dispatch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "planner/order/order_bound.h"
#include "planner/order/order_by_slack.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/cut_lanes.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

// 1 MB takes a second.
constexpr double kSecondsPerByte = 1e-6;
constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

/// `hosts` workers a rack, which `channels` lead out of and into; without racks: 0 channels.
NetworkModel Racks(std::int32_t racks, std::int32_t hosts, std::int32_t channels) {
  NetworkModel network;
  network.num_workers = racks * hosts;
  network.seconds_per_byte = kSecondsPerByte;
  for (std::int32_t rack = 0; rack < racks && channels > 0; ++rack) {
    for (const bool up : {true, false}) {
      Cut cut;
      cut.name = (up ? "up" : "down") + std::to_string(rack);
      cut.channels = channels;
      for (WorkerIndex w = 0; w < network.num_workers; ++w) {
        cut.from.push_back((w / hosts == rack) == up);
        cut.to.push_back((w / hosts == rack) != up);
      }
      network.cuts.push_back(cut);
    }
  }
  return network;
}

/// A mapper a worker, ready at these times, and a reducer a worker; section (j, k) has
/// bytes[j][k].
Plan Shuffle(const NetworkModel& network, const std::vector<Seconds>& ready_s,
             const std::vector<std::vector<Bytes>>& bytes) {
  PlanAssembly assembly(network);
  std::vector<MapperDraft> mappers;
  LayerDraft layer;
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  const double reducers = network.num_workers;
  for (WorkerIndex w = 0; w < network.num_workers; ++w) {
    mappers.push_back({w, 1'000'000, 1'000'000, 0, ready_s[At(w)]});
    layer.reducers.push_back({w, 1 / reducers});
  }
  EXPECT_TRUE(assembly.AddMappers(mappers).ok());
  EXPECT_TRUE(assembly.AddReducers(layer, {}).ok());
  Plan plan = assembly.TakePlan();
  for (ComputeStep& step : plan.steps) (step.layer == 0 ? step.output_bytes : step.input_bytes) = 0;
  const auto size = [&](StepIndex producer, StepIndex consumer) {
    return bytes[At(plan.steps[At(producer)].index_in_layer)]
                [At(plan.steps[At(consumer)].index_in_layer)];
  };
  for (Section& section : plan.sections) {
    section.bytes = size(section.producer, section.consumer);
    plan.steps[At(section.producer)].output_bytes += section.bytes;
    plan.steps[At(section.consumer)].input_bytes += section.bytes;
  }
  for (Transfer& transfer : plan.transfers) {
    transfer.bytes = size(transfer.producer, transfer.consumer);
  }
  return plan;
}

std::vector<TransferIndex> AllOf(const Plan& plan) {
  std::vector<TransferIndex> all(plan.transfers.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// When each producer of a shuffle is ready: nothing runs before it on its worker.
std::vector<Seconds> Ends(const Plan& plan) {
  std::vector<Seconds> ends;
  for (const ComputeStep& step : plan.steps) ends.push_back(step.duration_s);
  return ends;
}

SlackSchedule Dispatched(const Plan& plan, const SlackTuning& tuning) {
  return DispatchBySlack(plan, AllOf(plan), Ends(plan), tuning);
}

/// Whether what runs at `moment_s` with these starts leaves room for the transfer.
bool HasRoom(const Plan& plan, const std::vector<Seconds>& start_s, std::size_t t,
             Seconds moment_s) {
  const CutLanes lanes(plan.network);
  const Transfer& wanted = plan.transfers[t];
  std::vector<double> left;
  for (const Cut& cut : plan.network.cuts) left.push_back(static_cast<double>(lanes.Of(cut)));
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& other = plan.transfers[i];
    const Seconds lasts_s = plan.network.TransferSeconds(other.sender, other.receiver, other.bytes);
    if (i == t || start_s[i] > moment_s || start_s[i] + lasts_s <= moment_s + 1e-9) continue;
    if (other.sender == wanted.sender || other.receiver == wanted.receiver) return false;
    for (const std::int32_t cut : CutsCrossed(plan.network, other.sender, other.receiver)) {
      left[At(cut)] -= lanes.Taken(other.sender, other.receiver);
    }
  }
  const std::vector<std::int32_t> crossed =
      CutsCrossed(plan.network, wanted.sender, wanted.receiver);
  return std::all_of(crossed.begin(), crossed.end(), [&](std::int32_t cut) {
    return left[At(cut)] >= lanes.Taken(wanted.sender, wanted.receiver);
  });
}

/// Least end of all orders in which each transfer starts as early as the ones before it leave
/// room: one of these is as short as any schedule of whole transfers. For a handful of them.
Seconds ShortestOfAll(const Plan& plan) {
  std::vector<TransferIndex> order = AllOf(plan);
  const std::vector<Seconds> ends = Ends(plan);
  Seconds shortest_s = kNever;
  do {
    std::vector<Seconds> start_s(plan.transfers.size(), kNever);
    Seconds end_s = 0;
    for (const TransferIndex index : order) {
      const Transfer& transfer = plan.transfers[At(index)];
      const Seconds lasts_s =
          plan.network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
      // It starts at its release or where another one ends, and has room until its own end.
      std::vector<Seconds> moments = {ends[At(transfer.producer)]};
      for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
        if (start_s[i] == kNever) continue;
        const Transfer& other = plan.transfers[i];
        moments.push_back(start_s[i] +
                          plan.network.TransferSeconds(other.sender, other.receiver, other.bytes));
      }
      std::sort(moments.begin(), moments.end());
      for (const Seconds moment_s : moments) {
        if (moment_s < ends[At(transfer.producer)]) continue;
        bool fits = HasRoom(plan, start_s, At(index), moment_s);
        for (const Seconds later_s : start_s) {
          const bool within = later_s > moment_s && later_s < moment_s + lasts_s - 1e-9;
          if (within) fits = fits && HasRoom(plan, start_s, At(index), later_s);
        }
        if (!fits) continue;
        start_s[At(index)] = moment_s;
        end_s = std::max(end_s, moment_s + lasts_s);
        break;
      }
    }
    shortest_s = std::min(shortest_s, end_s);
  } while (std::next_permutation(order.begin(), order.end()));
  return shortest_s;
}

TEST(SlackDispatchTest, WhoHasMostToReceiveIsServedFirst) {
  // Worker 0 must receive 4 + 4 s and is never idle only if both come one after the other from the
  // start; what worker 1 and 2 send each other (1 s) has to wait for it, or fit beside it.
  const Plan plan = Shuffle(Racks(3, 1, 0), {0, 0, 0},
                            {{0, 0, 0}, {4'000'000, 0, 1'000'000}, {4'000'000, 1'000'000, 0}});
  const SlackSchedule schedule = Dispatched(plan, {.noise = 0});
  Seconds busy_s = 0, end_s = 0;
  for (const ScheduledPiece& piece : schedule.pieces) {
    if (plan.transfers[At(piece.transfer)].receiver == 0) busy_s += piece.duration_s;
    end_s = std::max(end_s, piece.start_s + piece.duration_s);
  }
  EXPECT_EQ(busy_s, 8);
  EXPECT_EQ(end_s, 8);
}

TEST(SlackDispatchTest, TheRackWithMostToSendGoesFirst) {
  // One channel leads out of each rack of two: rack 0 has 3 + 3 s for rack 1 and rack 2 has 1 s for
  // it. If rack 2 goes first through the way into rack 1, the other one ends at 7 s; it should too,
  // since that is the volume of the way in, but not with rack 0's way out idle for a moment.
  std::vector<std::vector<Bytes>> bytes(6, std::vector<Bytes>(6, 0));
  bytes[0][2] = 3'000'000;
  bytes[1][3] = 3'000'000;
  bytes[4][2] = 1'000'000;
  const Plan plan = Shuffle(Racks(3, 2, 1), std::vector<Seconds>(6, 0), bytes);
  const SlackSchedule schedule = Dispatched(plan, {.noise = 0});
  std::vector<Seconds> ends_s;
  for (const ScheduledPiece& piece : schedule.pieces) {
    const Transfer& transfer = plan.transfers[At(piece.transfer)];
    if (transfer.bytes > 0 && transfer.sender < 2) {
      ends_s.push_back(piece.start_s + piece.duration_s);
    }
  }
  std::sort(ends_s.begin(), ends_s.end());
  EXPECT_EQ(ends_s, (std::vector<Seconds>{3, 6}));
}

TEST(SlackDispatchTest, LargeShufflesInRacksAreOrderedBetterThanByList) {
  // 24 workers in six racks: 552 transfers, more than are matched.
  const std::int32_t n = 24;
  std::vector<std::vector<Bytes>> bytes(n, std::vector<Bytes>(n, 0));
  std::vector<Seconds> ready_s;
  for (std::int32_t j = 0; j < n; ++j) {
    ready_s.push_back(j % 3);
    for (std::int32_t k = 0; k < n; ++k) {
      if (j != k) bytes[At(j)][At(k)] = 100'000 + 37'000 * ((7 * j + 11 * k) % 13);
    }
  }
  Plan by_list = Shuffle(Racks(6, 4, 1), ready_s, bytes);
  Plan plan = by_list, without_time = by_list;
  const Seconds bound_s = *OrderBound(plan);
  ASSERT_EQ(OrderByPriority(&by_list), absl::OkStatus());
  ASSERT_EQ(SlackOrderWithin(plan, kSlackWorkMax), SlackOrder::kDispatched);
  ASSERT_EQ(OrderBySlack(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_GT(by_list.summary.makespan_s, 1.03 * bound_s);
  EXPECT_LE(plan.summary.makespan_s, 1.02 * bound_s);
  EXPECT_EQ(plan.transfers.size(), 552u);

  ASSERT_EQ(SlackOrderWithin(without_time, 1000), SlackOrder::kNone);
  ASSERT_EQ(OrderBySlack(&without_time, 1000), absl::OkStatus());
  EXPECT_EQ(without_time.send_order, by_list.send_order) << "then the list rule stands";
}

TEST(SlackDispatchTest, WorkIsCountedByTheSizeOfThePlan) {
  Plan plan = Shuffle(Racks(6, 4, 1), std::vector<Seconds>(24, 0),
                      std::vector<std::vector<Bytes>>(24, std::vector<Bytes>(24, 1'000)));
  const std::int64_t one = DispatchWork(plan.transfers.size(), 24);
  EXPECT_EQ(SlackOrderWithin(plan, one), SlackOrder::kDispatched);
  EXPECT_EQ(SlackOrderWithin(plan, one - 1), SlackOrder::kNone);
  // A plan of a day may take one dispatch, whatever that costs; one of a millisecond may not.
  EXPECT_EQ(SlackOrderWithin(plan, SlackWorkFor(plan, 86'400)), SlackOrder::kDispatched);
  EXPECT_EQ(SlackOrderWithin(plan, SlackWorkFor(plan, 1e-3)), SlackOrder::kNone);
  EXPECT_EQ(SlackWorkFor(plan, 86'400), kSlackWorkMax) << "far more than four dispatches";
  plan.transfers.resize(10);
  EXPECT_EQ(SlackOrderWithin(plan, 0), SlackOrder::kMatched);
}

TEST(SlackDispatchTest, LongShufflesHaveTimeForEachWayToWeighSlack) {
  Plan plan;
  plan.network.num_workers = 256;
  plan.transfers.resize(256 * 255);
  const std::int64_t one = DispatchWork(plan.transfers.size(), 256);
  EXPECT_EQ(SlackWorkFor(plan, 86'400), 4 * one);
  EXPECT_EQ(SlackWorkFor(plan, 1e-9 + one / (0.03 * kSlackWorkPerS)), one) << "3 % of the shuffle";
  plan.network.num_workers = 500;
  plan.transfers.resize(500 * 499);
  EXPECT_EQ(SlackWorkFor(plan, 86'400), DispatchWork(plan.transfers.size(), 500))
      << "one, which takes more than all are to take together";
}

RC_GTEST_PROP(SlackDispatchProperty, EachTransferStartsOnceAndNothingWaitsWithoutNeed, ()) {
  const auto racks = *rc::gen::inRange(1, 4);
  const auto hosts = *rc::gen::inRange(2, 4);
  NetworkModel network = Racks(racks, hosts, *rc::gen::inRange(0, 3));
  network.latency_s = *rc::gen::element(0.0, 0.25);
  const std::size_t n = At(network.num_workers);
  if (*rc::gen::arbitrary<bool>()) {
    for (std::size_t w = 0; w < n; ++w) {
      network.port_slowdown.push_back(*rc::gen::element(1.0, 1.0, 2.0, 4.0));
    }
  }
  std::vector<Seconds> ready_s;
  std::vector<std::vector<Bytes>> bytes(n, std::vector<Bytes>(n, 0));
  for (std::size_t j = 0; j < n; ++j) {
    ready_s.push_back(*rc::gen::inRange(0, 4));
    for (std::size_t k = 0; k < n; ++k) {
      if (j != k) bytes[j][k] = 500'000 * *rc::gen::inRange(1, 6);
    }
  }
  Plan plan = Shuffle(network, ready_s, bytes);
  const SlackTuning tuning = {
      .scale = *rc::gen::element(0.4, 0.1, 0.005), .noise = *rc::gen::element(0.0, 0.3), .seed = 3};
  const SlackSchedule schedule = Dispatched(plan, tuning);
  RC_ASSERT(schedule.pieces.size() == plan.transfers.size());
  std::vector<Seconds> start_s(plan.transfers.size(), kNever);
  Seconds end_s = 0;
  for (const ScheduledPiece& piece : schedule.pieces) {
    RC_ASSERT(start_s[At(piece.transfer)] == kNever);
    start_s[At(piece.transfer)] = piece.start_s;
    end_s = std::max(end_s, piece.start_s + piece.duration_s);
  }
  const std::vector<Seconds> ends = Ends(plan);
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const Seconds released_s = ends[At(plan.transfers[t].producer)];
    RC_ASSERT(start_s[t] >= released_s);
    RC_ASSERT(HasRoom(plan, start_s, t, start_s[t]));
    // At every moment before its start at which something began or ended, it did not fit.
    for (const ScheduledPiece& other : schedule.pieces) {
      for (const Seconds moment_s : {other.start_s, other.start_s + other.duration_s}) {
        if (moment_s < released_s || moment_s >= start_s[t] - 1e-9) continue;
        RC_ASSERT(!HasRoom(plan, start_s, t, moment_s));
      }
    }
  }
  // The times are those of the plan that follows from it.
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) plan.transfers[t].start_s = start_s[t];
  RC_ASSERT(OrderByStart(&plan) == absl::OkStatus());
  RC_ASSERT(CheckPlan(plan) == absl::OkStatus());
  RC_ASSERT(plan.summary.makespan_s <= std::max(end_s, *OrderBound(plan)) + 1e-6);
  RC_ASSERT(*OrderBound(plan) <= plan.summary.makespan_s + 1e-9);
}

RC_GTEST_PROP(SlackDispatchProperty, IsWithinTwiceTheShortestOfAllOrders, ()) {
  NetworkModel network = Racks(2, 2, *rc::gen::inRange(0, 2));
  std::vector<Seconds> ready_s;
  std::vector<std::vector<Bytes>> bytes(4, std::vector<Bytes>(4, 0));
  for (std::size_t j = 0; j < 4; ++j) ready_s.push_back(*rc::gen::inRange(0, 3));
  Plan plan = Shuffle(network, ready_s, bytes);
  // Six transfers of some size; the others are left out.
  std::vector<Transfer> kept;
  for (int i = 0; i < 6; ++i) {
    Transfer transfer = plan.transfers[At(*rc::gen::inRange(0, 12))];
    transfer.bytes = 1'000'000 * *rc::gen::inRange(1, 5);
    kept.push_back(transfer);
  }
  plan.transfers = kept;
  Seconds best_s = kNever;
  for (const double scale : {0.1, 0.02, 0.005, 0.4}) {
    Seconds end_s = 0;
    for (const ScheduledPiece& piece : Dispatched(plan, {.scale = scale, .noise = 0}).pieces) {
      end_s = std::max(end_s, piece.start_s + piece.duration_s);
    }
    best_s = std::min(best_s, end_s);
  }
  const Seconds shortest_s = ShortestOfAll(plan);
  RC_ASSERT(best_s >= shortest_s - 1e-9);
  RC_ASSERT(best_s <= 2 * shortest_s + 1e-9);
}

/// Starts whatever can start, lowest index first, at every moment at which something ends.
std::vector<Seconds> NaiveListStarts(const Plan& plan) {
  const std::vector<Seconds> ends = Ends(plan);
  std::vector<Seconds> start_s(plan.transfers.size(), kNever);
  std::vector<Seconds> moments = ends;
  for (std::size_t m = 0; m < moments.size(); ++m) {
    std::sort(moments.begin() + static_cast<std::ptrdiff_t>(m), moments.end());
    for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
      const Transfer& transfer = plan.transfers[t];
      if (start_s[t] != kNever || ends[At(transfer.producer)] > moments[m] + 1e-9) continue;
      if (!HasRoom(plan, start_s, t, moments[m])) continue;
      start_s[t] = moments[m];
      moments.push_back(moments[m] + plan.network.TransferSeconds(
                                         transfer.sender, transfer.receiver, transfer.bytes));
    }
  }
  return start_s;
}

RC_GTEST_PROP(OrderByPriorityProperty, StartsWhatTheNaiveListRuleStarts, ()) {
  const auto racks = *rc::gen::inRange(1, 4);
  const auto hosts = *rc::gen::inRange(2, 5);
  const NetworkModel network = Racks(racks, hosts, *rc::gen::inRange(0, 3));
  const std::size_t n = At(network.num_workers);
  std::vector<Seconds> ready_s;
  std::vector<std::vector<Bytes>> bytes(n, std::vector<Bytes>(n, 0));
  for (std::size_t j = 0; j < n; ++j) {
    ready_s.push_back(*rc::gen::inRange(0, 4));
    for (std::size_t k = 0; k < n; ++k) {
      if (j != k) bytes[j][k] = 1'000'000 * *rc::gen::inRange(1, 9);
    }
  }
  Plan plan = Shuffle(network, ready_s, bytes);
  RC_ASSERT(OrderByPriority(&plan) == absl::OkStatus());
  const std::vector<Seconds> start_s = NaiveListStarts(plan);
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    RC_ASSERT(std::abs(plan.transfers[t].start_s - start_s[t]) < 1e-6);
  }
}

}  // namespace
}  // namespace weir::planner
