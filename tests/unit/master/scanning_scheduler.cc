#include "tests/unit/master/scanning_scheduler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/plan/units.h"

namespace weir::master {

using planner::At;
using planner::Seconds;
using planner::Transfer;
using planner::TransferIndex;

namespace {

Seconds LateAfter(Seconds due_s) { return due_s * 1.02 + 1e-3; }

}  // namespace

ScanningScheduler::ScanningScheduler(const planner::Plan& plan,
                                     const planner::Prediction& prediction, TransferGate* gate)
    : plan_(plan),
      prediction_(prediction),
      gate_(gate),
      lanes_(plan.network),
      state_(plan.transfers.size(), State::kWaiting) {
  for (const auto& order : plan.send_order) orders_.push_back({order, true});
  for (const auto& order : plan.receive_order) orders_.push_back({order, true});
  for (const auto& cut : plan.channel_order) {
    for (const auto& lane : cut) orders_.push_back({lane, false});
  }
}

void ScanningScheduler::SetReady(TransferIndex transfer) {
  if (state_[At(transfer)] == State::kWaiting) state_[At(transfer)] = State::kReady;
}

void ScanningScheduler::Pass(TransferIndex transfer) {
  state_[At(transfer)] = State::kPassed;
  moves_until_s_.erase(transfer);
  if (gate_ != nullptr) gate_->Passed(transfer);
}

bool ScanningScheduler::Crosses(TransferIndex transfer, std::size_t cut) const {
  const Transfer& t = plan_.transfers[At(transfer)];
  return plan_.network.cuts[cut].Crosses(t.sender, t.receiver);
}

std::int64_t ScanningScheduler::LanesTaken(TransferIndex transfer) const {
  const Transfer& t = plan_.transfers[At(transfer)];
  return lanes_.Taken(t.sender, t.receiver);
}

std::int64_t ScanningScheduler::FreeLanes(std::size_t cut) const {
  std::int64_t free = lanes_.Of(plan_.network.cuts[cut]);
  for (const auto& [moving, until_s] : moves_until_s_) {
    if (Crosses(moving, cut)) free -= LanesTaken(moving);
  }
  return free;
}

bool ScanningScheduler::ResourcesFree(TransferIndex transfer) const {
  const Transfer& t = plan_.transfers[At(transfer)];
  for (const auto& [moving, until_s] : moves_until_s_) {
    const Transfer& other = plan_.transfers[At(moving)];
    if (other.sender == t.sender || other.receiver == t.receiver) return false;
  }
  for (std::size_t c = 0; c < plan_.network.cuts.size(); ++c) {
    if (Crosses(transfer, c) && FreeLanes(c) < LanesTaken(transfer)) return false;
  }
  return true;
}

Seconds ScanningScheduler::LateAt(TransferIndex transfer, double pace) const {
  const planner::Interval& predicted = prediction_.transfers[At(transfer)];
  const bool moving = state_[At(transfer)] == State::kMoving;
  return LateAfter(pace * (moving ? predicted.finish_s : predicted.start_s));
}

Seconds ScanningScheduler::PlannedSeconds(TransferIndex transfer) const {
  const planner::Interval& predicted = prediction_.transfers[At(transfer)];
  return predicted.finish_s - predicted.start_s;
}

void ScanningScheduler::NoteLate(Seconds late_s) {
  next_late_s_ = std::min(late_s, next_late_s_.value_or(late_s));
}

bool ScanningScheduler::MayGoNow(TransferIndex transfer, Seconds now_s, double pace) {
  const bool strict = plan_.transfer_order == planner::TransferOrder::kStrict;
  for (const Order& order : orders_) {
    const auto own = std::find(order.transfers.begin(), order.transfers.end(), transfer);
    if (own == order.transfers.end()) continue;
    for (auto before = order.transfers.begin(); before != own; ++before) {
      if (state_[At(*before)] == State::kPassed) continue;
      if (strict && order.port) return false;
      const Seconds late_s = LateAt(*before, pace);
      if (now_s < late_s) {
        NoteLate(late_s);
        return false;
      }
      if (!MayOvertake(transfer, *before, now_s, pace)) return false;
    }
  }
  return true;
}

Seconds ScanningScheduler::FreeAt(TransferIndex transfer) const {
  const Transfer& t = plan_.transfers[At(transfer)];
  Seconds free_s = 0;
  for (const auto& [moving, until_s] : moves_until_s_) {
    const Transfer& other = plan_.transfers[At(moving)];
    if (other.sender == t.sender || other.receiver == t.receiver) {
      free_s = std::max(free_s, until_s);
    }
  }
  for (std::size_t c = 0; c < plan_.network.cuts.size(); ++c) {
    if (!Crosses(transfer, c)) continue;
    std::vector<std::pair<Seconds, std::int64_t>> given_back;
    for (const auto& [moving, until_s] : moves_until_s_) {
      if (Crosses(moving, c)) given_back.emplace_back(until_s, LanesTaken(moving));
    }
    std::sort(given_back.begin(), given_back.end());
    std::int64_t lacking = LanesTaken(transfer) - FreeLanes(c);
    for (const auto& [until_s, lanes] : given_back) {
      if (lacking <= 0) break;
      free_s = std::max(free_s, until_s);
      lacking -= lanes;
    }
  }
  return free_s;
}

bool ScanningScheduler::MayOvertake(TransferIndex transfer, TransferIndex before, Seconds now_s,
                                    double pace) {
  if (state_[At(before)] == State::kMoving) return true;
  Seconds due_s = FreeAt(before);
  if (state_[At(before)] == State::kWaiting) {
    const planner::StepIndex producer = plan_.transfers[At(before)].producer;
    const Seconds run_due_s = pace * prediction_.steps[At(producer)].finish_s;
    if (now_s >= LateAfter(run_due_s)) return true;
    due_s = std::max(due_s, run_due_s);
  }
  const Seconds patience_s = std::min(PlannedSeconds(transfer), PlannedSeconds(before));
  const bool resources_free = due_s == 0;
  if (!resources_free && std::abs(due_s - now_s) >= patience_s) return true;
  NoteLate((resources_free ? now_s : due_s) + patience_s);
  return false;
}

std::optional<TransferIndex> ScanningScheduler::FirstStartable(planner::WorkerIndex sender,
                                                               Seconds now_s, double pace) {
  auto ready_left = std::count_if(
      plan_.send_order[At(sender)].begin(), plan_.send_order[At(sender)].end(),
      [this](TransferIndex transfer) { return state_[At(transfer)] == State::kReady; });
  for (const TransferIndex transfer : plan_.send_order[At(sender)]) {
    // Nothing published is left: nobody waits for the others.
    if (ready_left == 0) break;
    if (state_[At(transfer)] == State::kReady) {
      --ready_left;
      const bool may_go = ResourcesFree(transfer) && MayGoNow(transfer, now_s, pace);
      if (may_go && (gate_ == nullptr || gate_->MayMove(transfer))) return transfer;
    }
    if (state_[At(transfer)] == State::kPassed) continue;
    if (plan_.transfer_order == planner::TransferOrder::kStrict) break;
    if (now_s < LateAt(transfer, pace)) {
      NoteLate(LateAt(transfer, pace));
      break;
    }
  }
  return std::nullopt;
}

std::vector<TransferIndex> ScanningScheduler::TakeStartable(Seconds now_s, double pace) {
  next_late_s_.reset();
  if (gate_ == nullptr) return TakeInTurn(now_s, pace);
  gate_->BeginTurn(now_s);
  std::vector<TransferIndex> started = TakeInTurn(now_s, pace);
  gate_->EndTurn();
  if (gate_->next_look_s()) NoteLate(*gate_->next_look_s());
  return started;
}

std::vector<TransferIndex> ScanningScheduler::TakeInTurn(Seconds now_s, double pace) {
  std::vector<TransferIndex> started;
  for (;;) {
    std::optional<TransferIndex> best;
    const auto rank = [this](TransferIndex transfer) {
      return std::make_pair(prediction_.transfers[At(transfer)].start_s, transfer);
    };
    for (planner::WorkerIndex w = 0; w < plan_.network.num_workers; ++w) {
      const bool busy = std::any_of(
          moves_until_s_.begin(), moves_until_s_.end(),
          [this, w](const auto& moving) { return plan_.transfers[At(moving.first)].sender == w; });
      if (busy) continue;
      const std::optional<TransferIndex> found = FirstStartable(w, now_s, pace);
      if (found && (!best || rank(*found) < rank(*best))) best = found;
    }
    if (!best) return started;
    state_[At(*best)] = State::kMoving;
    moves_until_s_[*best] = now_s + PlannedSeconds(*best);
    if (gate_ != nullptr) gate_->Moves(*best, PlannedSeconds(*best));
    started.push_back(*best);
  }
}

}  // namespace weir::master
