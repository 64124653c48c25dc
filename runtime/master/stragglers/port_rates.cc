#include "runtime/master/stragglers/port_rates.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace weir::master {

using planner::At;
using planner::Seconds;
using planner::Transfer;
using planner::WorkerIndex;
using planner::WorkState;

namespace {

/// Weight of a transfer beside the one that follows it at its port.
constexpr double kFaded = 0.5;

}  // namespace

std::optional<double> LowerMedian(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void PortRates::Row::Add(WorkerIndex with, Seconds planned, Seconds took) {
  several_peers = several_peers || (count > 0 && with != peer);
  if (count == 0) peer = with;
  ++count;
  planned_s += planned;
  took_s += took;
}

PortRates::PortRates(const planner::Plan& plan)
    : plan_(&plan),
      num_workers_(At(plan.network.num_workers)),
      ports_(2 * num_workers_),
      carried_(num_workers_),
      counted_(plan.transfers.size(), false) {}

PortRates::Known& PortRates::SenderOf(const Transfer& transfer) {
  return ports_[At(transfer.sender)];
}

PortRates::Known& PortRates::ReceiverOf(const Transfer& transfer) {
  return ports_[num_workers_ + At(transfer.receiver)];
}

Seconds PortRates::PlannedSeconds(const RunSoFar& run, std::size_t transfer) const {
  const Transfer& planned = plan_->transfers[transfer];
  const bool known = transfer < run.transfer_bytes.size() && run.transfer_bytes[transfer] > 0;
  return planner::TransferSeconds(*plan_, planned,
                                  known ? run.transfer_bytes[transfer] : planned.bytes) -
         planner::StartSeconds(*plan_);
}

Seconds PortRates::SecondsSince(const RunSoFar& run, std::size_t transfer) const {
  return run.state.now_s - run.state.transfer_began_s[transfer] - planner::StartSeconds(*plan_);
}

std::vector<std::size_t> PortRates::TakeMoves(const RunSoFar& run) {
  const planner::PlanState& state = run.state;
  std::vector<std::size_t> ended;
  const auto look = [&](std::size_t t) {
    if (state.transfers[t] == WorkState::kUnderWay) {
      under_way_.insert(t);
    } else {
      under_way_.erase(t);
    }
    if (state.transfers[t] != WorkState::kDone || counted_[t]) return;
    counted_[t] = true;
    ended.push_back(t);
  };
  if (run.moved_on) {
    for (const planner::TransferIndex transfer : *run.moved_on) look(At(transfer));
  } else {
    for (std::size_t t = 0; t < state.transfers.size(); ++t) look(t);
  }
  std::stable_sort(ended.begin(), ended.end(), [&](std::size_t a, std::size_t b) {
    return state.transfer_ended_s[a] < state.transfer_ended_s[b];
  });
  return ended;
}

void PortRates::Observe(const RunSoFar& run) {
  if (plan_->transfer_order == planner::TransferOrder::kFetchAll || plan_->rates_over_time) return;
  const planner::PlanState& state = run.state;
  for (const std::size_t t : TakeMoves(run)) {
    Count(plan_->transfers[t],
          {state.transfer_ended_s[t], PlannedSeconds(run, t),
           state.transfer_ended_s[t] - state.transfer_began_s[t] - planner::StartSeconds(*plan_)});
  }
  ForgetCarried(state);
  for (Known& known : ports_) {
    const Row& slow = known.slow;
    const Row& fast = known.fast;
    known.port.behind =
        slow.count > 1 && slow.several_peers && slow.took_s - slow.planned_s > kStragglerLateS;
    known.port.faster =
        fast.count > 1 && fast.several_peers && fast.planned_s - fast.took_s > kStragglerLateS;
    known.port.rate = known.took_s > 0 ? known.rate() : 1;
    if (known.port.behind) known.port.rate = slow.planned_s / slow.took_s;
    if (known.port.faster) known.port.rate = fast.planned_s / fast.took_s;
  }
  FindLeast(run);
  std::vector<Late> late;
  std::vector<int> late_at(num_workers_, 0);
  for (const std::size_t t : under_way_) {
    const Transfer& transfer = plan_->transfers[t];
    const Late moving{&transfer, state.transfer_began_s[t], PlannedSeconds(run, t),
                      SecondsSince(run, t)};
    if (!IsLate(moving)) continue;
    late.push_back(moving);
    ++late_at[At(transfer.sender)];
    ++late_at[At(transfer.receiver)];
  }
  for (const Late& each : late) Blame(each, late_at);
}

void PortRates::FindLeast(const RunSoFar& run) {
  for (Known& known : ports_) {
    known.least = known.took_s > 0 ? std::optional(known.rate()) : std::nullopt;
  }
  for (const std::size_t t : under_way_) {
    const Seconds planned_s = PlannedSeconds(run, t);
    const Seconds took_s = SecondsSince(run, t);
    if (planned_s <= 0 || took_s <= planned_s) continue;
    for (Known* known : {&SenderOf(plan_->transfers[t]), &ReceiverOf(plan_->transfers[t])}) {
      if (known->least) known->least = std::min(*known->least, planned_s / (2 * took_s));
    }
  }
  std::vector<double> all;
  for (const Known& known : ports_) {
    if (known.least) all.push_back(*known.least);
  }
  least_.Assign(std::move(all));
}

std::optional<double> PortRates::PaceBeside(const Known& one, const Known& other) const {
  std::array<double, 2> both;
  std::size_t known = 0;
  if (one.least) both[known++] = *one.least;
  if (other.least && &other != &one) both[known++] = *other.least;
  const std::optional<double> pace = least_.MedianWithout({both.data(), known});
  return pace ? std::optional(std::min(1.0, *pace)) : std::nullopt;
}

void PortRates::ForgetCarried(const planner::PlanState& state) {
  Seconds oldest_s = state.now_s;
  for (const std::size_t t : under_way_) oldest_s = std::min(oldest_s, state.transfer_began_s[t]);
  for (std::deque<Ended>& carried : carried_) {
    while (!carried.empty() && carried.front().at_s <= oldest_s) carried.pop_front();
  }
}

void PortRates::Count(const Transfer& transfer, const Ended& ended) {
  // What has no bytes to speak of says nothing of rates.
  if (ended.planned_s <= 0 || ended.took_s <= 0) return;
  if (CountAt(SenderOf(transfer), transfer.receiver, ended)) {
    carried_[At(transfer.sender)].push_back(ended);
  }
  if (CountAt(ReceiverOf(transfer), transfer.sender, ended)) {
    carried_[At(transfer.receiver)].push_back(ended);
  }
}

bool PortRates::CountAt(Known& port, WorkerIndex peer, const Ended& ended) {
  const Seconds planned_s = ended.planned_s, took_s = ended.took_s;
  const double rate = planned_s / took_s;
  const double beside = rate / PaceBeside(port, port).value_or(1);
  if (beside >= kStragglerRate) port.slow = Row{};
  if (rate <= 1 / kStragglerRate) port.fast = Row{};
  if (beside < kStragglerRate) port.slow.Add(peer, planned_s, took_s);
  if (rate > 1 / kStragglerRate) port.fast.Add(peer, planned_s, took_s);
  port.planned_s = port.planned_s * kFaded + planned_s;
  port.took_s = port.took_s * kFaded + took_s;
  least_.Replace(port.least, port.rate());
  port.least = port.rate();
  return beside >= kStragglerRate;
}

bool PortRates::CarriedMeanwhile(WorkerIndex worker, const Late& late) const {
  Seconds carried_s = 0;
  for (auto ended = carried_[At(worker)].rbegin(); ended != carried_[At(worker)].rend(); ++ended) {
    if (ended->at_s <= late.began_s) break;
    carried_s += ended->planned_s;
    if (carried_s >= late.planned_s) return true;
  }
  return false;
}

bool PortRates::IsLate(const Late& moving) {
  const std::optional<double> pace =
      PaceBeside(SenderOf(*moving.transfer), ReceiverOf(*moving.transfer));
  if (!pace || moving.planned_s <= 0) return false;
  const Seconds expected_s = moving.planned_s / *pace;
  return moving.took_s > SilentTimes(*pace) * expected_s &&
         moving.took_s - expected_s > kStragglerLateS;
}

void PortRates::Blame(const Late& late, const std::vector<int>& late_at) {
  const Transfer& transfer = *late.transfer;
  Known& sender = SenderOf(transfer);
  Known& receiver = ReceiverOf(transfer);
  const auto before = [](const Known& port, WorkerIndex peer) {
    return port.slow.count > 0 && port.slow.peer != peer;
  };
  int at_sender = before(sender, transfer.receiver);
  int at_receiver = before(receiver, transfer.sender);
  if (at_sender == at_receiver) {
    at_sender = !CarriedMeanwhile(transfer.sender, late);
    at_receiver = !CarriedMeanwhile(transfer.receiver, late);
  }
  if (at_sender == at_receiver) {
    at_sender = late_at[At(transfer.sender)];
    at_receiver = late_at[At(transfer.receiver)];
  }
  for (Known* known : {&sender, &receiver}) {
    const bool other = known == &sender ? at_sender < at_receiver : at_receiver < at_sender;
    if (other) continue;
    known->port.behind = true;
    known->port.faster = false;
    // As long again; but slow ones before it know better.
    const Row& slow = known->slow;
    known->port.rate = slow.count > 0
                           ? std::min(late.planned_s / late.took_s, slow.planned_s / slow.took_s)
                           : late.planned_s / (2 * late.took_s);
  }
}

void PortRates::TakeEdit(const planner::Plan& plan,
                         absl::Span<const planner::TransferIndex> transfer_was) {
  plan_ = &plan;
  std::vector<bool> counted(plan.transfers.size(), false);
  for (std::size_t t = 0; t < transfer_was.size() && t < counted.size(); ++t) {
    if (transfer_was[t] != planner::kNoIndex) counted[t] = counted_[At(transfer_was[t])];
  }
  counted_ = std::move(counted);
  under_way_.clear();
  // What they are known for is what the plan says now.
  num_workers_ = At(plan.network.num_workers);
  ports_.assign(2 * num_workers_, Known{});
  carried_.assign(num_workers_, {});
  least_.Assign({});
}

}  // namespace weir::master
