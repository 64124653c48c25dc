#include "runtime/master/schedule/transfer_scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "planner/plan/units.h"

namespace weir::master {

using planner::At;
using planner::Seconds;
using planner::Transfer;
using planner::TransferIndex;
using planner::WorkerIndex;

namespace {

// Whoever is woken then finds the time over, however times are rounded.
constexpr Seconds kPlaceKeptLongerS = 1e-3;

std::int32_t NumOrders(const planner::Plan& plan) {
  std::size_t num_orders = plan.send_order.size() + plan.receive_order.size();
  for (const auto& cut : plan.channel_order) num_orders += cut.size();
  return static_cast<std::int32_t>(num_orders);
}

}  // namespace

TransferScheduler::TransferScheduler(const planner::Plan& plan,
                                     const planner::Prediction& prediction, TransferGate* gate)
    : plan_(plan),
      prediction_(prediction),
      gate_(gate),
      lanes_(plan.network),
      rows_(plan.transfers.size()),
      by_start_(plan.transfers.size()),
      plan_rank_(plan.transfers.size()),
      send_port_busy_(At(plan.network.num_workers), false),
      receive_port_busy_(At(plan.network.num_workers), false),
      moves_until_s_(plan.transfers.size(), 0),
      sends_until_s_(At(plan.network.num_workers), 0),
      receives_until_s_(At(plan.network.num_workers), 0),
      crosses_until_s_(plan.network.cuts.size()),
      shared_cuts_(At(plan.network.num_workers)),
      num_ready_(At(plan.network.num_workers), 0),
      least_seconds_(At(plan.network.num_workers), std::numeric_limits<double>::infinity()),
      receivers_(At(plan.network.num_workers)),
      rates_(plan),
      allocation_(plan),
      findings_(plan.network.num_workers, GateResource() + 1, NumOrders(plan)) {
  FillRows();
  FillSharedCuts();
  for (const auto& order : plan.send_order) AddOrder(order);
  for (const auto& order : plan.receive_order) AddOrder(order);
  for (const auto& cut : plan.channel_order) {
    for (const auto& lane : cut) AddOrder(lane);
  }
  FillPlaces();
  for (const planner::Cut& cut : plan.network.cuts) free_lanes_.push_back(lanes_.Of(cut));
  if (planner::IsOrdered(plan.transfer_order)) {
    for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
      SetState(static_cast<TransferIndex>(t), State::kWaiting);
    }
  }
  std::iota(by_start_.begin(), by_start_.end(), 0);
  std::stable_sort(by_start_.begin(), by_start_.end(), [&](TransferIndex a, TransferIndex b) {
    return prediction.transfers[At(a)].start_s < prediction.transfers[At(b)].start_s;
  });
  if (plan.port_lanes > 0) {
    for (std::size_t t = 0; t < rows_.size(); ++t) rates_.Expect(static_cast<TransferIndex>(t));
    expected_by_ = by_start_;
    std::stable_sort(expected_by_.begin(), expected_by_.end(),
                     [&](TransferIndex a, TransferIndex b) {
                       return rows_[At(a)].finish_s < rows_[At(b)].finish_s;
                     });
  }
  for (std::size_t i = 0; i < by_start_.size(); ++i) {
    plan_rank_[At(by_start_[i])] = static_cast<std::int32_t>(i);
  }
}

void TransferScheduler::FillRows() {
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    const Transfer& transfer = plan_.transfers[t];
    Row& row = rows_[t];
    row.start_s = prediction_.transfers[t].start_s;
    row.finish_s = prediction_.transfers[t].finish_s;
    row.run_due_s = prediction_.steps[At(transfer.producer)].finish_s;
    row.sender = transfer.sender;
    row.receiver = transfer.receiver;
    // What was done before an edit is predicted to take none.
    if (const Seconds seconds = row.finish_s - row.start_s; seconds > 0) {
      Seconds& least_s = least_seconds_[At(row.sender)];
      least_s = std::min(least_s, seconds);
    }
    row.cuts_begin = static_cast<std::int32_t>(crossed_cuts_.size());
    for (std::size_t c = 0; c < plan_.network.cuts.size(); ++c) {
      if (!plan_.network.cuts[c].Crosses(transfer.sender, transfer.receiver)) continue;
      crossed_cuts_.push_back(static_cast<std::int32_t>(c));
    }
    row.cuts_end = static_cast<std::int32_t>(crossed_cuts_.size());
  }
}

void TransferScheduler::FillSharedCuts() {
  std::vector<bool> seen(shared_cuts_.size(), false);
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    const auto transfer = static_cast<TransferIndex>(t);
    const std::int64_t lanes = LanesTaken(transfer);
    const auto cuts = CutsOf(transfer);
    std::vector<SharedCut>& shared = shared_cuts_[At(rows_[t].sender)];
    if (!seen[At(rows_[t].sender)]) {
      seen[At(rows_[t].sender)] = true;
      for (const std::int32_t cut : cuts) shared.push_back({cut, lanes});
      continue;
    }
    std::erase_if(shared, [cuts](const SharedCut& one) {
      return std::find(cuts.begin(), cuts.end(), one.cut) == cuts.end();
    });
    for (SharedCut& one : shared) one.lanes = std::min(one.lanes, lanes);
  }
}

bool TransferScheduler::MayHaveRoom(WorkerIndex sender) const {
  const std::vector<SharedCut>& cuts = shared_cuts_[At(sender)];
  return std::all_of(cuts.begin(), cuts.end(), [this](const SharedCut& one) {
    return free_lanes_[At(one.cut)] >= one.lanes;
  });
}

void TransferScheduler::AddOrder(const std::vector<TransferIndex>& transfers) {
  orders_.push_back(
      Order{transfers, 0, OvertakeIndex(static_cast<std::int32_t>(transfers.size())), {}});
}

void TransferScheduler::FillPlaces() {
  for (const Order& order : orders_) {
    for (const TransferIndex transfer : order.transfers) ++rows_[At(transfer)].places_end;
  }
  std::int32_t num_places = 0;
  for (Row& row : rows_) {
    row.places_begin = num_places;
    num_places += std::exchange(row.places_end, num_places);
  }
  places_.resize(At(num_places));
  for (std::size_t o = 0; o < orders_.size(); ++o) {
    for (std::size_t i = 0; i < orders_[o].transfers.size(); ++i) {
      places_[At(rows_[At(orders_[o].transfers[i])].places_end++)] =
          Place{static_cast<std::int32_t>(o), static_cast<std::int32_t>(i)};
    }
  }
}

std::int64_t TransferScheduler::LanesTaken(TransferIndex transfer) const {
  const Row& row = rows_[At(transfer)];
  return lanes_.Taken(row.sender, row.receiver);
}

void TransferScheduler::SetState(TransferIndex transfer, State state) {
  rows_[At(transfer)].state = state;
  if (!planner::IsOrdered(plan_.transfer_order)) return;
  const double due_s = OvertakenAfter(transfer);
  for (const Place& place : PlacesOf(transfer)) {
    orders_[At(place.order)].overtaken_after_s.Set(place.position, due_s);
  }
}

double TransferScheduler::OvertakenAfter(TransferIndex transfer) const {
  const Row& predicted = rows_[At(transfer)];
  switch (rows_[At(transfer)].state) {
    case State::kPassed:
      return OvertakeIndex::kNever;
    case State::kMoving:
      return predicted.finish_s;
    case State::kReady:
      return OvertakeIndex::kAlways;  // by what it waits for, which is not known here
    case State::kWaiting:
      break;
  }
  // Late itself, and nobody knows when its run comes.
  return std::max(predicted.start_s, predicted.run_due_s);
}

void TransferScheduler::SetReady(TransferIndex transfer, planner::Bytes bytes) {
  if (rows_[At(transfer)].state != State::kWaiting) return;
  SetState(transfer, State::kReady);
  const Row& t = rows_[At(transfer)];
  ++num_ready_[At(t.sender)];
  if (plan_.rates_over_time) return allocation_.Wait(transfer, bytes);
  if (plan_.transfer_order == planner::TransferOrder::kRates) return rates_.Wait(transfer);
  if (planner::IsOrdered(plan_.transfer_order)) return;
  receivers_[At(t.receiver)].ready.emplace(ReceivePlace(transfer), transfer);
  changed_receivers_.insert(t.receiver);
}

std::int32_t TransferScheduler::ReceivePlace(TransferIndex transfer) const {
  // Orders were added senders first, so that of the receiver is a transfer's second.
  return PlacesOf(transfer)[1].position;
}

void TransferScheduler::Skip(TransferIndex transfer) { Pass(transfer); }

void TransferScheduler::Pass(TransferIndex transfer) {
  const Row& t = rows_[At(transfer)];
  const State state = rows_[At(transfer)].state;
  if (state == State::kPassed) return;
  const bool fetch_all = plan_.transfer_order == planner::TransferOrder::kFetchAll;
  if (plan_.rates_over_time) {
    state == State::kMoving ? allocation_.End(transfer) : allocation_.Withdraw(transfer);
  } else if (plan_.transfer_order == planner::TransferOrder::kRates) {
    state == State::kMoving ? rates_.End(transfer) : rates_.Withdraw(transfer);
  } else if (fetch_all && state == State::kMoving) {
    --receivers_[At(t.receiver)].num_moving;
    changed_receivers_.insert(t.receiver);
  } else if (fetch_all) {
    receivers_[At(t.receiver)].ready.erase({ReceivePlace(transfer), transfer});
  } else if (state == State::kMoving) {
    send_port_busy_[At(t.sender)] = false;
    receive_port_busy_[At(t.receiver)] = false;
    for (const std::int32_t cut : CutsOf(transfer)) {
      free_lanes_[At(cut)] += LanesTaken(transfer);
      auto& until_s = crosses_until_s_[At(cut)];
      until_s.erase(until_s.find({moves_until_s_[At(transfer)], LanesTaken(transfer)}));
    }
  }
  if (state == State::kReady) --num_ready_[At(t.sender)];
  SetState(transfer, State::kPassed);
  if (gate_ != nullptr) gate_->Passed(transfer);
  for (const Place& place : PlacesOf(transfer)) {
    Order& order = orders_[At(place.order)];
    while (At(order.head) < order.transfers.size() &&
           rows_[At(order.transfers[At(order.head)])].state == State::kPassed) {
      ++order.head;
    }
  }
}

void TransferScheduler::Return(TransferIndex transfer, planner::Bytes bytes) {
  if (rows_[At(transfer)].state != State::kPassed) return;
  for (const Place& place : PlacesOf(transfer)) {
    Order& order = orders_[At(place.order)];
    order.head = std::min(order.head, place.position);
  }
  rows_[At(transfer)].state = State::kWaiting;
  SetReady(transfer, bytes);
}

void TransferScheduler::NoteLate(Seconds late_s) {
  if (!next_late_s_ || late_s < *next_late_s_) next_late_s_ = late_s;
}

Seconds TransferScheduler::PlannedSeconds(TransferIndex transfer) const {
  const Row& predicted = rows_[At(transfer)];
  return predicted.finish_s - predicted.start_s;
}

void TransferScheduler::Resume(const std::vector<Moving>& moving, Seconds now_s) {
  if (gate_ != nullptr) gate_->BeginTurn(now_s);
  for (const auto& [transfer, rate] : moving) {
    const Seconds left_s = std::max(0.0, rows_[At(transfer)].finish_s - now_s);
    if (gate_ != nullptr) gate_->Moves(transfer, left_s);
    if (planner::IsOrdered(plan_.transfer_order)) {
      Occupy(transfer, now_s, left_s);
      continue;
    }
    rows_[At(transfer)].state = State::kMoving;
    if (plan_.rates_over_time) {
      const planner::RateOrder order{transfer, rate.order.bytes_per_s, rate.order.number};
      allocation_.Begin(order, rate.bytes_left, rate.held_bytes_per_s, now_s);
    } else if (plan_.transfer_order == planner::TransferOrder::kRates) {
      rates_.Begin(transfer);
    } else {
      ++receivers_[At(rows_[At(transfer)].receiver)].num_moving;
    }
  }
  if (gate_ != nullptr) gate_->EndTurn();
}

void TransferScheduler::Occupy(TransferIndex transfer, Seconds now_s, Seconds seconds) {
  const Row& t = rows_[At(transfer)];
  SetState(transfer, State::kMoving);
  send_port_busy_[At(t.sender)] = true;
  receive_port_busy_[At(t.receiver)] = true;
  const Seconds until_s = now_s + seconds;
  moves_until_s_[At(transfer)] = until_s;
  sends_until_s_[At(t.sender)] = until_s;
  receives_until_s_[At(t.receiver)] = until_s;
  for (const std::int32_t cut : CutsOf(transfer)) {
    free_lanes_[At(cut)] -= LanesTaken(transfer);
    crosses_until_s_[At(cut)].insert({until_s, LanesTaken(transfer)});
  }
}

void TransferScheduler::MoveUncounted(TransferIndex transfer) {
  rows_[At(transfer)].state = State::kMoving;
  --num_ready_[At(rows_[At(transfer)].sender)];
  if (gate_ != nullptr) gate_->Moves(transfer, PlannedSeconds(transfer));
}

std::vector<TransferIndex> TransferScheduler::TakeRated(Seconds now_s, double pace) {
  for (; next_expected_ < expected_by_.size(); ++next_expected_) {
    const TransferIndex transfer = expected_by_[next_expected_];
    if (rows_[At(transfer)].state != State::kWaiting) continue;
    const Seconds until_s = rows_[At(transfer)].finish_s * pace;
    if (now_s <= until_s) {
      NoteLate(until_s + kPlaceKeptLongerS);
      break;
    }
    rates_.Withdraw(transfer);
  }
  return rates_.TakeStartable([this](TransferIndex transfer) {
    if (!GateOpen(transfer)) return false;
    MoveUncounted(transfer);
    return true;
  });
}

void TransferScheduler::ExpectRuns(Seconds now_s, double pace) {
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    if (rows_[t].state != State::kWaiting) continue;
    const auto transfer = static_cast<TransferIndex>(t);
    const Seconds due_s = rows_[t].run_due_s * pace;
    if (now_s < due_s - planner::kRunExpectedS) continue;
    if (now_s > due_s + planner::kRunExpectedS) {
      allocation_.Unexpect(transfer);
      continue;
    }
    allocation_.Expect(transfer, plan_.transfers[t].bytes);
    NoteLate(due_s + planner::kRunExpectedS + kPlaceKeptLongerS);
  }
}

std::vector<TransferIndex> TransferScheduler::TakeAllocated(Seconds now_s, double pace) {
  ExpectRuns(now_s, pace);
  const planner::RateAllocation::Turn turn = allocation_.Take(
      now_s, [this](TransferIndex transfer) { return GateOpen(transfer); },
      [this](TransferIndex transfer) { MoveUncounted(transfer); });
  rate_orders_.insert(rate_orders_.end(), turn.change.begin(), turn.change.end());
  std::vector<TransferIndex> begun;
  for (const planner::RateOrder& order : turn.begin) begun.push_back(order.transfer);
  return begun;
}

void TransferScheduler::ConfirmRate(TransferIndex transfer, std::int32_t number) {
  allocation_.Confirm(transfer, number);
}

void TransferScheduler::FixRate(TransferIndex transfer) { allocation_.Fix(transfer); }

std::optional<planner::RateAllocation::UnderWay> TransferScheduler::RateOf(TransferIndex transfer,
                                                                           Seconds now_s) const {
  return allocation_.Look(transfer, now_s);
}

std::vector<TransferIndex> TransferScheduler::TakeFetches() {
  const std::int32_t limit =
      plan_.fetch_limit > 0 ? plan_.fetch_limit : std::numeric_limits<std::int32_t>::max();
  std::vector<TransferIndex> started;
  std::set<WorkerIndex> refused;  // to be looked at again
  for (const WorkerIndex worker : changed_receivers_) {
    Receiver& receiver = receivers_[At(worker)];
    for (auto next = receiver.ready.begin();
         receiver.num_moving < limit && next != receiver.ready.end();) {
      const TransferIndex transfer = next->second;
      if (!GateOpen(transfer)) {
        // Those behind it are asked about, too, though what is taken may be the receive port: what
        // they wait for of their send ports is kept for them from other jobs.
        refused.insert(worker);
        ++next;
        continue;
      }
      next = receiver.ready.erase(next);
      ++receiver.num_moving;
      MoveUncounted(transfer);
      started.push_back(transfer);
    }
  }
  changed_receivers_ = std::move(refused);
  return started;
}

std::vector<TransferIndex> TransferScheduler::TakeStartable(Seconds now_s, double pace) {
  next_late_s_.reset();
  if (gate_ != nullptr) gate_->BeginTurn(now_s);
  std::vector<TransferIndex> started;
  switch (plan_.transfer_order) {
    case planner::TransferOrder::kStrict:
    case planner::TransferOrder::kOvertake:
      started = TakeOrdered(now_s, pace);
      break;
    case planner::TransferOrder::kFetchAll:
      started = TakeFetches();
      break;
    case planner::TransferOrder::kRates:
      started = plan_.rates_over_time ? TakeAllocated(now_s, pace) : TakeRated(now_s, pace);
      break;
  }
  if (gate_ == nullptr) return started;
  gate_->EndTurn();
  if (gate_->next_look_s()) NoteLate(*gate_->next_look_s());
  return started;
}

std::int32_t TransferScheduler::CutResource(std::int32_t cut) const {
  return 2 * plan_.network.num_workers + cut;
}

std::int32_t TransferScheduler::GateResource() const {
  return CutResource(static_cast<std::int32_t>(plan_.network.cuts.size()));
}

}  // namespace weir::master
