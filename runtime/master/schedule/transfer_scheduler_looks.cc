// Looks: which of its transfers an idle sender could start now, in a plan whose transfers are
// ordered.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "planner/plan/units.h"
#include "runtime/master/schedule/transfer_scheduler.h"

namespace weir::master {

using planner::At;
using planner::Seconds;
using planner::TransferIndex;
using planner::WorkerIndex;

namespace {

// A transfer is late only beyond the jitter of clocks, messages and rounding: overtaking for less
// gains nothing and loses the planned order.
constexpr Seconds kLateSlackS = 1e-3;
constexpr double kLateSlackRatio = 0.02;

Seconds LateAfter(Seconds due_s) { return due_s * (1 + kLateSlackRatio) + kLateSlackS; }

}  // namespace

std::int32_t TransferScheduler::NextInTheWay(const Order& order, std::int32_t from, Seconds now_s,
                                             double pace) {
  return order.overtaken_after_s.First(from, [now_s, pace](double due_s) {
    if (due_s == OvertakeIndex::kNever) return false;
    return due_s == OvertakeIndex::kAlways || now_s < LateAfter(pace * due_s);
  });
}

Seconds TransferScheduler::LateAt(TransferIndex transfer, double pace) const {
  const Row& predicted = rows_[At(transfer)];
  const bool moving = rows_[At(transfer)].state == State::kMoving;
  const Seconds due = pace * (moving ? predicted.finish_s : predicted.start_s);
  return LateAfter(due);
}

bool TransferScheduler::ResourcesFree(TransferIndex transfer) const {
  const Row& t = rows_[At(transfer)];
  if (send_port_busy_[At(t.sender)] || receive_port_busy_[At(t.receiver)]) return false;
  const auto cuts = CutsOf(transfer);
  return std::all_of(cuts.begin(), cuts.end(), [&](std::int32_t cut) {
    return free_lanes_[At(cut)] >= LanesTaken(transfer);
  });
}

bool TransferScheduler::MayGoNow(TransferIndex transfer, Seconds now_s, double pace) {
  const std::span<const Place> places = PlacesOf(transfer);
  return std::all_of(places.begin(), places.end(),
                     [&](const Place& place) { return MayGoIn(place, transfer, now_s, pace); });
}

TransferScheduler::TurnHead& TransferScheduler::TurnHeadOf(std::int32_t order) {
  TurnHead& head = orders_[At(order)].turn_head;
  const std::int64_t version = findings_.SharedVersion(order);
  if (head.turn != turn_ || head.version != version) {
    head = {.place = orders_[At(order)].head, .turn = turn_, .version = version};
  }
  return head;
}

bool TransferScheduler::MayGoIn(const Place& place, TransferIndex transfer, Seconds now_s,
                                double pace) {
  const auto num_ports = static_cast<std::int32_t>(2 * send_port_busy_.size());
  const Order& order = orders_[At(place.order)];
  if (order.head == place.position) return true;
  if (plan_.transfer_order == planner::TransferOrder::kStrict && place.order < num_ports) {
    return false;
  }
  TurnHead& known = TurnHeadOf(place.order);
  const Seconds seconds = PlannedSeconds(transfer);
  // The head has not passed, and while the run is on time it decides: no need of the index.
  std::int32_t next = seconds <= known.longest_s ? known.place : order.head;
  bool may_go = true;
  while (may_go && next < place.position) {
    const std::int32_t i = next;
    const TransferIndex before = order.transfers[At(i)];
    const Seconds late_s = LateAt(before, pace);
    if (now_s < late_s) {
      NoteLate(late_s);
      may_go = false;
      break;
    }
    const Overtaking overtaking = WhoOvertakes(before, now_s, pace);
    may_go = seconds <= overtaking.longest_s;
    if (!may_go) {
      NoteLate(overtaking.due_s + std::min(seconds, PlannedSeconds(before)));
      if (place.order == rows_[At(transfer)].sender) NoteWait(before, overtaking);
      RestOn(before);
      break;
    }
    next = NextInTheWay(order, i + 1, now_s, pace);
    if (i == known.place) {
      known.place = next;
      known.longest_s = std::min(known.longest_s, overtaking.longest_s);
      known.rests = known.rests || overtaking.may_fall;
      if (overtaking.may_fall) {
        ForEachRest(before, [&](std::int32_t resource, std::int64_t needs) {
          findings_.SharedRestsOn(place.order, resource, needs);
        });
      }
    } else if (overtaking.may_fall) {
      RestOn(before);
    }
  }
  if (known.rests) findings_.RestsOnShared(place.order);
  return may_go;
}

void TransferScheduler::NoteWait(TransferIndex before, const Overtaking& overtaking) {
  const Seconds least_s = least_seconds_[At(rows_[At(before)].sender)];
  if (least_s <= overtaking.longest_s) return;
  all_wait_ = true;
  NoteLate(overtaking.due_s + std::min(least_s, PlannedSeconds(before)));
}

Seconds TransferScheduler::FreeAt(TransferIndex transfer) const {
  const Row& t = rows_[At(transfer)];
  Seconds free_s = 0;
  if (send_port_busy_[At(t.sender)]) free_s = sends_until_s_[At(t.sender)];
  if (receive_port_busy_[At(t.receiver)]) {
    free_s = std::max(free_s, receives_until_s_[At(t.receiver)]);
  }
  for (const std::int32_t cut : CutsOf(transfer)) {
    std::int64_t lacking = LanesTaken(transfer) - free_lanes_[At(cut)];
    for (const auto& [until_s, given_back] : crosses_until_s_[At(cut)]) {
      if (lacking <= 0) break;
      free_s = std::max(free_s, until_s);
      lacking -= given_back;
    }
  }
  return free_s;
}

TransferScheduler::Overtaking TransferScheduler::WhoOvertakes(TransferIndex before, Seconds now_s,
                                                              double pace) const {
  if (rows_[At(before)].state == State::kMoving) return {};
  Seconds due_s = FreeAt(before);
  if (rows_[At(before)].state == State::kWaiting) {
    const Seconds run_due_s = pace * rows_[At(before)].run_due_s;
    if (now_s >= LateAfter(run_due_s)) return {};  // nobody knows when
    due_s = std::max(due_s, run_due_s);
  }
  // It starts as soon as those before it let it.
  if (due_s == 0) return {.longest_s = -std::numeric_limits<double>::infinity(), .due_s = now_s};
  // Either may be the shorter one: waiting costs the time until then, overtaking the rest of the
  // overtaking one's time.
  const Seconds away_s = std::abs(due_s - now_s);
  const bool by_anyone = away_s >= PlannedSeconds(before);
  // Starts only put off when it is due: what is far ahead stays so.
  return {.longest_s = by_anyone ? std::numeric_limits<double>::infinity() : away_s,
          .due_s = due_s,
          .may_fall = due_s < now_s};
}

TransferIndex TransferScheduler::FirstStartable(WorkerIndex sender, Seconds now_s, double pace) {
  const Order& order = orders_[At(sender)];
  const auto num_transfers = static_cast<std::int32_t>(order.transfers.size());
  const bool strict = plan_.transfer_order == planner::TransferOrder::kStrict;
  std::int32_t ready_left = num_ready_[At(sender)];
  all_wait_ = false;
  for (std::int32_t i = order.head; ready_left > 0 && i < num_transfers;
       i = NextInTheWay(order, i + 1, now_s, pace)) {
    const TransferIndex transfer = order.transfers[At(i)];
    if (rows_[At(transfer)].state == State::kReady) {
      --ready_left;
      if (ResourcesFree(transfer) && MayGoNow(transfer, now_s, pace) && GateOpen(transfer)) {
        RestOn(transfer);
        if (gate_ != nullptr && gate_->shares_cuts()) findings_.RestsOn(GateResource());
        return transfer;
      }
    }
    // What comes behind one that must be waited for must wait as well.
    if (strict || all_wait_) break;
    if (now_s < LateAt(transfer, pace)) {
      NoteLate(LateAt(transfer, pace));
      break;
    }
  }
  return planner::kNoIndex;
}

template <typename Rest>
void TransferScheduler::ForEachRest(TransferIndex transfer, const Rest& rest) const {
  const Row& t = rows_[At(transfer)];
  rest(t.sender, TurnFindings::kAllOfIt);
  rest(plan_.network.num_workers + t.receiver, TurnFindings::kAllOfIt);
  const std::int64_t needs = LanesTaken(transfer);
  for (const std::int32_t cut : CutsOf(transfer)) {
    // While a cut has room for it, it is not what the transfer waits for, however much others take.
    const bool has_room = free_lanes_[At(cut)] >= needs;
    rest(CutResource(cut), has_room ? needs : TurnFindings::kAllOfIt);
  }
}

void TransferScheduler::RestOn(TransferIndex transfer) {
  ForEachRest(transfer, [this](std::int32_t resource, std::int64_t needs) {
    findings_.RestsOn(resource, needs);
  });
}

void TransferScheduler::TellTaken(TransferIndex transfer) {
  const Row& t = rows_[At(transfer)];
  findings_.Taken(t.sender);
  findings_.Taken(plan_.network.num_workers + t.receiver);
  for (const std::int32_t cut : CutsOf(transfer)) {
    findings_.Taken(CutResource(cut), free_lanes_[At(cut)]);
  }
  findings_.Taken(GateResource());
}

void TransferScheduler::LookAtSenders(Seconds now_s, double pace) {
  for (std::int32_t w = findings_.NextLook(); w != TurnFindings::kNone; w = findings_.NextLook()) {
    // What needs room waits for something to pass, and then there is another turn.
    if (!MayHaveRoom(w)) continue;
    const TransferIndex found = FirstStartable(w, now_s, pace);
    if (found != planner::kNoIndex) findings_.Found(plan_rank_[At(found)]);
  }
}

std::vector<TransferIndex> TransferScheduler::TakeOrdered(Seconds now_s, double pace) {
  std::vector<TransferIndex> started;
  findings_.Begin();
  ++turn_;
  for (std::size_t w = 0; w < send_port_busy_.size(); ++w) {
    if (!send_port_busy_[w] && num_ready_[w] > 0) findings_.Add(static_cast<std::int32_t>(w));
  }
  for (;;) {
    LookAtSenders(now_s, pace);
    const std::int32_t rank = findings_.TakeFirst();
    if (rank == TurnFindings::kNone) return started;
    const TransferIndex best = by_start_[At(rank)];
    --num_ready_[At(rows_[At(best)].sender)];
    if (gate_ != nullptr) gate_->Moves(best, PlannedSeconds(best));
    Occupy(best, now_s, PlannedSeconds(best));
    TellTaken(best);
    started.push_back(best);
  }
}

}  // namespace weir::master
