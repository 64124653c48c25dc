#include "runtime/master/calibrate/calibration_machine.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::master {
namespace {

constexpr std::size_t kSlowPortsMax = 16;
constexpr int kRoundTrips = 9;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

CalibrationMachine::CalibrationMachine(std::vector<std::string> names, absl::Duration at_most,
                                       std::uint64_t seed, MonoTime now, OrderedSending sending)
    : names_(std::move(names)),
      num_workers_(static_cast<int>(names_.size())),
      at_most_(at_most),
      began_(now),
      sending_(sending),
      random_state_(seed),
      up_(names_.size(), 0),
      down_(names_.size(), 0),
      racks_(num_workers_) {
  EnterPhase(Phase::kAlone);
}

std::optional<ProbeRound> CalibrationMachine::Next(MonoTime now) {
  while (planned_.empty() && phase_ != Phase::kDone) LeavePhase();
  if (planned_.empty()) return std::nullopt;
  if (now - began_ + absl::Seconds(planned_.front().round.Seconds()) > at_most_) {
    out_of_time_ = true;
    out_of_time_doing_ = planned_.front().round.doing;
    if (channel_ == 0 && !alone_rates_.empty()) FindChannelRate();
    phase_ = Phase::kDone;
    planned_.clear();
    return std::nullopt;
  }
  current_ = std::move(planned_.front());
  planned_.pop_front();
  return current_->round;
}

void CalibrationMachine::Take(const RoundOutcome& outcome) {
  const std::vector<ProbeOutcome>& outcomes = outcome.flows;
  ++rounds_;
  probes_ += static_cast<int>(outcomes.size());
  switch (phase_) {
    case Phase::kAlone:
      return TakeAlone(outcomes);
    case Phase::kSlowPorts:
      return KeepPortRates(outcomes, 0);
    case Phase::kLoad:
      return TakeLoad(outcomes);
    case Phase::kRacks:
      return TakeRacks(outcomes);
    case Phase::kCapacity:
      return TakeCapacity(outcomes);
    case Phase::kCheck:
      return TakeCheck(outcomes);
    case Phase::kOrder:
      return TakeOrder(outcome);
    case Phase::kSharing:
      return TakeSharing(outcome);
    case Phase::kDone:
      return;
  }
}

double CalibrationMachine::done_fraction() const {
  // Typical shares of the time; nobody knows how many rounds the racks will take.
  constexpr double kBegin[] = {0, 0.2, 0.25, 0.4, 0.55, 0.65, 0.7, 0.8, 1};
  return kBegin[static_cast<std::size_t>(phase_)];
}

void CalibrationMachine::Plan(std::string doing, std::vector<ProbeFlow> flows, int tag) {
  ProbeRound round;
  round.doing = std::move(doing);
  round.flows = std::move(flows);
  round.warm_up_s = 0.3;
  round.window_s = 0.6;
  round.tail_s = 0.1;
  if (phase_ == Phase::kAlone || phase_ == Phase::kSlowPorts) {
    round.round_trips = kRoundTrips;
    round.warm_up_s = 0.15;
    round.window_s = 0.3;
    round.tail_s = 0.03;
  } else if (phase_ == Phase::kCapacity) {
    round.warm_up_s = 0.5;
    round.window_s = 1.0;
  }
  planned_.push_back({std::move(round), tag});
}

void CalibrationMachine::EnterPhase(Phase phase) {
  phase_ = phase;
  switch (phase_) {
    case Phase::kAlone: {
      // A ring tries both directions of every port; of many workers a sample does.
      const int flows = num_workers_ <= kAloneMax ? num_workers_ : kAloneMax;
      for (int k = 0; k < flows; ++k) {
        const int from = k * num_workers_ / flows;
        Plan(absl::StrCat("one transfer at a time (", k + 1, " of ", flows, ")"),
             {{from, (from + 1) % num_workers_}}, 0);
      }
      return;
    }
    case Phase::kLoad:
      return PlanLoad();
    case Phase::kRacks:
      return PlanRacks();
    case Phase::kCapacity:
      return PlanCapacity();
    case Phase::kCheck:
      return PlanCheck();
    case Phase::kOrder:
      return PlanOrder();
    case Phase::kSharing:
      return PlanSharing();
    default:
      return;
  }
}

void CalibrationMachine::LeavePhase() {
  switch (phase_) {
    case Phase::kAlone: {
      FindChannelRate();
      std::vector<int> suspects;
      for (std::size_t w = 0; w < names_.size(); ++w) {
        const bool known = up_[w] > 0 || down_[w] > 0;
        const bool slow = (up_[w] > 0 && up_[w] < kFull * channel_) ||
                          (down_[w] > 0 && down_[w] < kFull * channel_);
        if (known && slow) suspects.push_back(static_cast<int>(w));
      }
      after_slow_ports_ = Phase::kLoad;
      return PlanSlowPorts(suspects);
    }
    case Phase::kSlowPorts:
      return EnterPhase(after_slow_ports_);
    case Phase::kLoad:
      after_slow_ports_ = limited_ ? Phase::kRacks : Phase::kCheck;
      if (num_workers_ > kAloneMax) return PlanSlowPorts(SlowUnderLoad());
      return EnterPhase(after_slow_ports_);
    case Phase::kRacks:
      return EnterPhase(Phase::kCapacity);
    case Phase::kCapacity:
      return EnterPhase(Phase::kCheck);
    case Phase::kCheck:
      // Of a network that is not understood nothing more can be said.
      if (!Reliable()) break;
      return EnterPhase(Phase::kOrder);
    case Phase::kOrder:
      return EnterPhase(Phase::kSharing);
    default:
      break;
  }
  phase_ = Phase::kDone;
}

void CalibrationMachine::TakeAlone(const std::vector<ProbeOutcome>& outcomes) {
  alone_rates_.push_back(outcomes[0].bytes_per_s);
  latencies_.push_back(outcomes[0].first_byte_s + outcomes[0].control_s);
  KeepPortRates(outcomes, 0);
}

void CalibrationMachine::KeepPortRates(const std::vector<ProbeOutcome>& outcomes, double at_least) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].bytes_per_s < at_least) continue;
    const ProbeFlow& flow = current_->round.flows[i];
    double& up = up_[static_cast<std::size_t>(flow.sender)];
    double& down = down_[static_cast<std::size_t>(flow.receiver)];
    up = std::max(up, outcomes[i].bytes_per_s);
    down = std::max(down, outcomes[i].bytes_per_s);
  }
}

void CalibrationMachine::FindChannelRate() {
  std::vector<double> better;
  for (std::size_t w = 0; w < names_.size(); ++w) {
    if (up_[w] > 0 || down_[w] > 0) better.push_back(std::max(up_[w], down_[w]));
  }
  const double middle = better.empty() ? 0 : Median(better);
  // The mean of what is near the median is steadier than the median itself.
  double sum = 0;
  int near = 0;
  for (const double rate : alone_rates_) {
    if (rate < kFull * middle || rate > middle / kFull) continue;
    sum += rate;
    ++near;
  }
  channel_ = near > 0 ? sum / near : middle;
  if (!latencies_.empty()) latency_s_ = Median(latencies_);
}

void CalibrationMachine::PlanSlowPorts(const std::vector<int>& suspects) {
  phase_ = Phase::kSlowPorts;
  // The peer: at full rate as far as is known; of three with a slow one all are suspects.
  int peer = -1;
  for (const bool among_suspects : {false, true}) {
    double best = 0;
    for (int w = 0; w < num_workers_; ++w) {
      const auto i = static_cast<std::size_t>(w);
      const bool suspect = std::find(suspects.begin(), suspects.end(), w) != suspects.end();
      if (suspect != among_suspects || up_[i] + down_[i] <= best) continue;
      best = up_[i] + down_[i];
      peer = w;
    }
    if (peer >= 0) break;
  }
  if (peer < 0) return;
  for (std::size_t i = 0; i < std::min(suspects.size(), kSlowPortsMax); ++i) {
    if (suspects[i] == peer) continue;
    const std::string doing =
        absl::StrCat("slow ports: ", names_[static_cast<std::size_t>(suspects[i])]);
    // Twice, and the better counts: what disturbs a probe only ever slows it.
    for (int turn = 0; turn < 2; ++turn) {
      Plan(doing, {{suspects[i], peer}}, 0);
      Plan(doing, {{peer, suspects[i]}}, 0);
    }
  }
  if (suspects.size() > kSlowPortsMax) {
    notes_.push_back(absl::StrCat(suspects.size() - kSlowPortsMax,
                                  " more workers came below the channel rate and were not tried "
                                  "again; give their ports in the network file"));
  }
}

double CalibrationMachine::PortLimit(const ProbeFlow& flow) const {
  const double up = up_[static_cast<std::size_t>(flow.sender)];
  const double down = down_[static_cast<std::size_t>(flow.receiver)];
  double limit = channel_;
  // A port that is about as fast as the channel is a full-rate port: its noise is not a limit.
  if (up > 0 && up < kFull * channel_) limit = std::min(limit, up);
  if (down > 0 && down < kFull * channel_) limit = std::min(limit, down);
  return limit;
}

double CalibrationMachine::ShareOfPorts(const std::vector<ProbeOutcome>& outcomes) const {
  double rates = 0;
  double limits = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    rates += outcomes[i].bytes_per_s;
    limits += PortLimit(current_->round.flows[i]);
  }
  return limits > 0 ? rates / limits : 1;
}

}  // namespace weir::master
