// The phases of CalibrationMachine in which transfers run at once.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/predict/fair_sharing.h"
#include "runtime/master/calibrate/calibration_machine.h"

namespace weir::master {
namespace {

constexpr int kRandomMatchings = 3;
// A smaller share of slowed pairs than this are slow ports, not a slow core.
constexpr double kCrossingMin = 0.2;
// Rounds of the racks without a single pair at full rate, in tested pairs per worker: then there is
// one total.
constexpr int kPairsPerWorker = 2;
// A repeated round decides when the first was this near to the border.
constexpr double kUnsure = 0.07;
// So far below the border must transfers through a core stay of which some have left.
constexpr double kFullCoreMargin = 0.15;
constexpr int kRing = -1;       // tag of the round of odd numbers
constexpr int kRackLocal = -1;  // tag of the round inside racks

double Sum(const std::vector<ProbeOutcome>& outcomes) {
  double sum = 0;
  for (const ProbeOutcome& outcome : outcomes) sum += outcome.bytes_per_s;
  return sum;
}

}  // namespace

std::vector<double> CalibrationMachine::PairShares(
    const std::vector<ProbeOutcome>& outcomes) const {
  std::vector<double> shares;
  for (std::size_t i = 0; i + 1 < outcomes.size(); i += 2) {
    const double limit =
        PortLimit(current_->round.flows[i]) + PortLimit(current_->round.flows[i + 1]);
    const double rate = outcomes[i].bytes_per_s + outcomes[i + 1].bytes_per_s;
    shares.push_back(limit > 0 ? rate / limit : 1);
  }
  return shares;
}

void CalibrationMachine::PlanLoad() {
  std::vector<Matching> matchings = {
      HalvesMatching(num_workers_), OuterHalvesMatching(num_workers_),
      NeighboursMatching(num_workers_), MirrorMatching(num_workers_)};
  const std::size_t num_fixed = matchings.size();
  if (num_workers_ > 4) {
    for (int i = 0; i < kRandomMatchings; ++i) {
      matchings.push_back(RandomMatching(num_workers_, random_state_));
    }
  }
  for (std::size_t pairs = 1; pairs < matchings[0].size(); pairs *= 2) {
    tries_.push_back({matchings[0], pairs, /*search=*/true, {}});
  }
  for (std::size_t m = 0; m < matchings.size(); ++m) {
    const auto here = matchings.begin() + static_cast<std::ptrdiff_t>(m);
    if (std::find(matchings.begin(), here, *here) != here) continue;
    tries_.push_back({*here, here->size(), /*search=*/m >= num_fixed, {}});
  }
  for (std::size_t i = 0; i < tries_.size(); ++i) {
    std::vector<ProbeFlow> flows = FlowsOf(tries_[i].matching, tries_[i].num_pairs);
    const std::size_t num_flows = flows.size();
    Plan(absl::StrCat(num_flows, " transfers at once"), std::move(flows), static_cast<int>(i));
  }
  if (num_workers_ % 2 == 0) return;
  std::vector<ProbeFlow> ring;
  for (int w = 0; w < num_workers_; ++w) ring.push_back({w, (w + 1) % num_workers_});
  Plan(absl::StrCat(num_workers_, " transfers at once"), std::move(ring), kRing);
}

void CalibrationMachine::TakeLoad(std::vector<ProbeOutcome> outcomes) {
  if (asked_again_) {
    // What disturbs a probe only ever slows it.
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      outcomes[i].bytes_per_s = std::max(outcomes[i].bytes_per_s, first_outcomes_[i].bytes_per_s);
    }
  } else if (current_->tag == kRing ? ShareOfPorts(outcomes) < kFull : Slowed(outcomes)) {
    asked_again_ = true;
    first_outcomes_ = std::move(outcomes);
    planned_.push_front(*current_);
    return;
  }
  asked_again_ = false;
  const double share = ShareOfPorts(outcomes);
  v1::MeasuredNetwork::LoadPoint point;
  point.set_transfers(static_cast<std::int32_t>(outcomes.size()));
  point.set_channel_bytes_per_s(share * channel_);
  load_points_.push_back(point);
  KeepPortRates(outcomes, kFull * channel_);
  if (current_->tag == kRing) {
    ring_share_ = share;
    ring_bytes_per_s_ = Sum(outcomes);
    return;
  }
  LoadTry& load_try = tries_[static_cast<std::size_t>(current_->tag)];
  load_try.pair_shares = PairShares(outcomes);
  if (!Slowed(outcomes)) return;
  // The rate of a channel has fallen: no need to raise further, nor to look for a matching at
  // random. With few pairs only the first is shown.
  const bool all_pairs = load_try.num_pairs == load_try.matching.size();
  std::erase_if(planned_, [this, all_pairs](const Planned& planned) {
    if (planned.tag < 0) return all_pairs;
    const LoadTry& other = tries_[static_cast<std::size_t>(planned.tag)];
    return other.search && (all_pairs || other.num_pairs < other.matching.size());
  });
  if (!all_pairs) return;
  limited_ = true;
  if (base_.empty() || share < base_share_) {
    base_ = load_try.matching;
    base_share_ = share;
  }
}

// A full link slows two pairs or more; one alone was disturbed. Of many workers, some whose ports
// were not tried alone may be slow.
bool CalibrationMachine::Slowed(const std::vector<ProbeOutcome>& outcomes) const {
  const std::vector<double> shares = PairShares(outcomes);
  const auto slowed = static_cast<double>(
      std::count_if(shares.begin(), shares.end(), [](double share) { return share < kFull; }));
  const auto num_pairs = static_cast<double>(shares.size());
  const double slowed_min = num_workers_ > kAloneMax ? kCrossingMin * num_pairs : 0;
  return slowed >= std::max(std::min(2.0, num_pairs), slowed_min);
}

std::vector<int> CalibrationMachine::SlowUnderLoad() const {
  std::vector<int> slow;
  for (int w = 0; w < num_workers_; ++w) {
    const auto i = static_cast<std::size_t>(w);
    if (!limited_ && std::min(up_[i], down_[i]) < kFull * channel_) slow.push_back(w);
  }
  return slow;
}

void CalibrationMachine::PlanRacks() {
  // What the base itself says.
  const auto base_try = std::find_if(tries_.begin(), tries_.end(), [this](const LoadTry& load_try) {
    return load_try.matching == base_ && load_try.num_pairs == base_.size();
  });
  double slowed = 0;
  int num_slowed = 0;
  for (const double share : base_try->pair_shares) {
    if (share >= kFull) continue;
    slowed += share;
    ++num_slowed;
  }
  if (num_slowed > 0) {
    full_rate_share_ = std::clamp((1 + slowed / num_slowed) / 2, 0.75, 0.9);
  }
  // A slow port hides whether the core slows its transfers as well: nothing can be said of its
  // rack.
  for (int w = 0; w < num_workers_; ++w) {
    if (!SlowPort(static_cast<std::size_t>(w))) continue;
    for (int other = 0; other < num_workers_; ++other) racks_.SetDifferent(w, other);
  }
  for (std::size_t i = 0; i < base_.size(); ++i) {
    if (base_try->pair_shares[i] < full_rate_share_) {
      racks_.SetDifferent(base_[i].first, base_[i].second);
    } else {
      racks_.SetSame(base_[i].first, base_[i].second);
    }
  }
  TakeRacks({});
}

// Also plans what comes next; empty outcomes: nothing was measured yet.
void CalibrationMachine::TakeRacks(const std::vector<ProbeOutcome>& outcomes) {
  if (!outcomes.empty()) {
    std::vector<double> shares = PairShares(outcomes);
    if (asked_again_) {
      const std::vector<double> first = PairShares(first_outcomes_);
      for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = (shares[i] + first[i]) / 2;
    }
    const std::vector<ProbeFlow>& flows = current_->round.flows;
    const auto met_by_swap = [&](std::size_t i) {
      const std::pair<int, int> pair = {flows[2 * i].sender, flows[2 * i].receiver};
      return std::find(base_.begin(), base_.end(), pair) == base_.end();
    };
    bool unsure = false;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      unsure = unsure || (met_by_swap(i) && std::abs(shares[i] - full_rate_share_) < kUnsure);
    }
    if (unsure && !asked_again_) {
      asked_again_ = true;
      first_outcomes_ = outcomes;
      planned_.push_front(*current_);
      return;
    }
    asked_again_ = false;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const std::pair<int, int> pair = {flows[2 * i].sender, flows[2 * i].receiver};
      if (!met_by_swap(i)) continue;
      ++pairs_tested_;
      if (shares[i] < full_rate_share_) {
        racks_.SetDifferent(pair.first, pair.second);
      } else {
        racks_.SetSame(pair.first, pair.second);
      }
    }
  }
  if (!racks_.AnySame() && pairs_tested_ >= kPairsPerWorker * num_workers_) {
    racks_complete_ = true;
    return;
  }
  // Swapped pairs that turn out to be in one rack leave the core: so few that it stays full.
  const double may_leave = 1 - base_share_ / (full_rate_share_ - kFullCoreMargin);
  const auto swaps_max =
      static_cast<std::size_t>(std::max(1.0, may_leave / 4 * static_cast<double>(num_workers_)));
  swaps_ = racks_.NextSwaps(base_, swaps_max, random_state_);
  racks_complete_ = swaps_.empty();
  if (racks_complete_) return;
  const Matching swapped = ApplySwaps(base_, swaps_);
  Plan(absl::StrCat("who shares a rack (", racks_.Racks().size(), " candidates)"),
       FlowsOf(swapped, swapped.size()), 0);
}

void CalibrationMachine::PlanCapacity() {
  if (base_.empty()) return;
  if (!racks_.AnySame()) {
    links_.push_back({"total", {}, true, 0, false});
    Plan("the limited total", FlowsOf(base_, base_.size()), 0);
    return;
  }
  const std::vector<std::vector<int>> racks = racks_.Racks();
  for (std::size_t r = 0; r < racks.size(); ++r) {
    if (racks[r].size() < 2) continue;
    std::vector<int> others;
    // One of each other rack, then the next of each, so that no other rack is the narrow place.
    for (std::size_t k = 0; k < names_.size(); ++k) {
      for (std::size_t q = 1; q < racks.size(); ++q) {
        const std::vector<int>& other = racks[(r + q) % racks.size()];
        // A slow one may be of this very rack.
        const bool unknown = SlowPort(static_cast<std::size_t>(other[0]));
        if (k < other.size() && !unknown) others.push_back(other[k]);
      }
    }
    const std::string& first = names_[static_cast<std::size_t>(racks[r][0])];
    if (others.empty()) {
      notes_.push_back(absl::StrCat("the capacity of the rack of ", first,
                                    " is not determined: every worker beyond it has a slow port; "
                                    "add it to the cuts by hand"));
      continue;
    }
    for (const bool up : {true, false}) {
      std::vector<ProbeFlow> flows;
      for (std::size_t i = 0; i < std::min(racks[r].size(), others.size()); ++i) {
        flows.push_back(up ? ProbeFlow{racks[r][i], others[i]} : ProbeFlow{others[i], racks[r][i]});
      }
      const std::string name = absl::StrCat("rack ", first, up ? " up" : " down");
      Plan(absl::StrCat("capacity of ", name), std::move(flows), static_cast<int>(links_.size()));
      links_.push_back({name, racks[r], up, 0, false});
    }
  }
  Matching local;
  for (const std::vector<int>& rack : racks) {
    for (std::size_t i = 0; i + 1 < rack.size(); i += 2) local.emplace_back(rack[i], rack[i + 1]);
  }
  Plan("transfers inside racks", FlowsOf(local, local.size()), kRackLocal);
}

void CalibrationMachine::TakeCapacity(const std::vector<ProbeOutcome>& outcomes) {
  const double share = ShareOfPorts(outcomes);
  if (current_->tag == kRackLocal) {
    KeepPortRates(outcomes, kFull * channel_);
    if (share < kFull) links_.push_back({"total", {}, true, Sum(outcomes), true});
    return;
  }
  Link& link = links_[static_cast<std::size_t>(current_->tag)];
  link.bytes_per_s = Sum(outcomes);
  link.limited = share < kFull;
}

void CalibrationMachine::PlanCheck() {
  Matching matching = RandomMatching(num_workers_, random_state_);
  Plan("a last pattern, against the result", FlowsOf(matching, matching.size()), 0);
}

void CalibrationMachine::TakeCheck(const std::vector<ProbeOutcome>& outcomes) {
  planner::NetworkModel network;
  network.num_workers = num_workers_;
  NetworkSpec spec = Spec();
  ApplyNetworkSpec(spec, names_, network);
  planner::SharingProblem problem;
  // Ports up, ports down, cuts.
  for (const std::vector<double>* ports : {&up_, &down_}) {
    for (const double rate : *ports) {
      problem.capacity.push_back(rate > 0 && rate < kFull * channel_ ? rate : channel_);
    }
  }
  for (const planner::Cut& cut : network.cuts) {
    double rate = cut.channels * channel_;
    for (const Link& link : links_) {
      if (link.limited && link.name == cut.name) rate = link.bytes_per_s;
    }
    problem.capacity.push_back(rate);
  }
  std::vector<std::int32_t> active;
  for (const ProbeFlow& flow : current_->round.flows) {
    active.push_back(static_cast<std::int32_t>(active.size()));
    planner::AddFlow(network, flow.sender, flow.receiver, problem);
  }
  std::vector<double> rates(active.size());
  planner::MaxMinRates(problem, active, &rates);
  double predicted = 0;
  for (const double rate : rates) predicted += rate;
  if (predicted > 0) check_share_ = Sum(outcomes) / predicted;
}

}  // namespace weir::master
