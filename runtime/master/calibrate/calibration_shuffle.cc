// The phases of CalibrationMachine that run small shuffles: in an order, and all at once.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "planner/order/coalesce.h"
#include "runtime/master/calibrate/calibration_machine.h"

namespace weir::master {
namespace {

constexpr int kTimes = 3;
// Transfers of an ordered round take a little more than what is worth a grant.
constexpr double kSectionS = 1.25 * planner::kShortestGrantS;
constexpr std::size_t kOrderedWorkersMax = 8;
constexpr double kOrderedBoundMaxS = 2;
// Everybody fetches from everybody: 240 transfers at once.
constexpr std::size_t kSharingWorkersMax = 16;
constexpr double kToOneS = 0.5;
constexpr double kToAllS = 1;
// The longest that a round may take; a worker allows no more (limits::kProbeFetch).
constexpr double kRoundMaxS = 3;
// With two workers no transfer follows another, and none shares a port.
constexpr std::size_t kWorkersMin = 3;
constexpr double kFractionMin = 0.1;  // planner::CheckNetwork
// Of what ports need: cuts that need less were not loaded.
constexpr double kCutLoaded = 0.5;
// As many times longer than ports explain is no noise.
constexpr double kUnexplained = 1.01;

enum Tag { kToOne, kToAll };

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

planner::NetworkModel CalibrationMachine::FoundNetwork() const {
  planner::NetworkModel network;
  network.num_workers = num_workers_;
  ApplyNetworkSpec(WholeSpec(), names_, network);
  return network;
}

std::vector<int> CalibrationMachine::FullRateWorkers(std::size_t most) const {
  std::vector<bool> left_out;
  for (std::size_t w = 0; w < names_.size(); ++w) left_out.push_back(SlowPort(w));
  return SpreadWorkers(left_out, most);
}

void CalibrationMachine::PlanOrder() {
  planner::NetworkModel network = FoundNetwork();
  network.pacing_fraction = sending_.pacing_fraction;
  const auto bytes = static_cast<planner::Bytes>(channel_ * kSectionS);
  std::vector<int> workers = FullRateWorkers(kOrderedWorkersMax);
  const auto takes_s = [&] {
    const BusiestSeconds busiest =
        BusiestOf(network, AllToAll(workers), static_cast<double>(bytes));
    return std::max(busiest.port_s, busiest.cut_s);
  };
  while (workers.size() > kWorkersMin && takes_s() > kOrderedBoundMaxS) workers.pop_back();
  if (workers.size() < kWorkersMin || bytes <= 0) return;
  absl::StatusOr<planner::Plan> plan = OrderedShuffle(network, AllToAll(workers), bytes);
  if (!plan.ok()) {
    notes_.push_back(
        absl::StrCat("the gap between transfers is not determined: ", plan.status().message()));
    return;
  }
  ordered_ = *std::move(plan);
  ProbeRound round;
  round.doing = absl::StrCat(ordered_.transfers.size(), " transfers in an order");
  // Orders may have cut nothing: sections are too short for two grants.
  for (const planner::Transfer& transfer : ordered_.transfers) {
    round.flows.push_back({transfer.sender, transfer.receiver});
  }
  round.after = RightBefore(ordered_);
  round.window_s = kRoundMaxS;
  round.bytes = bytes;
  round.pacing_bytes_per_s =
      static_cast<std::int64_t>(std::max(sending_.pacing_fraction, 0.0) * channel_);
  round.look_ahead_bytes = std::min(sending_.look_ahead_bytes, bytes / 2);
  // As a job's grants: earlier by what arrives while a report and a grant are on their way.
  const double meanwhile = std::max(latency_s_, 0.0) * channel_;
  round.grant_ahead_bytes =
      round.look_ahead_bytes > 0
          ? std::min(round.look_ahead_bytes + static_cast<std::int64_t>(meanwhile), bytes / 2)
          : 0;
  for (int turn = 0; turn < kTimes; ++turn) planned_.push_back({round, 0});
}

void CalibrationMachine::TakeOrder(const RoundOutcome& outcome) {
  gaps_s_.push_back(FittedGapSeconds(ordered_, outcome.took_s));
}

void CalibrationMachine::PlanSharing() {
  const std::vector<int> workers = FullRateWorkers(kSharingWorkersMax);
  // Where nothing moved, no number of bytes takes a round's time.
  if (workers.size() < kWorkersMin || channel_ <= 0) return;
  num_sharing_ = static_cast<int>(workers.size());
  const planner::NetworkModel network = FoundNetwork();
  for (const Tag tag : {kToOne, kToAll}) {
    ProbeRound round;
    round.flows = tag == kToOne ? AllToFirst(workers) : AllToAll(workers);
    round.doing =
        absl::StrCat(round.flows.size(), tag == kToOne ? " transfers at once to one worker"
                                                       : " transfers at once from all to all");
    const BusiestSeconds a_byte = BusiestOf(network, round.flows, 1);
    const double wanted_s = tag == kToOne ? kToOneS : kToAllS;
    round.bytes = static_cast<std::int64_t>(wanted_s / std::max(a_byte.port_s, a_byte.cut_s));
    round.window_s = kRoundMaxS;
    round.counts_segments = true;
    if (round.bytes <= 0) return;
    Shared& shared = tag == kToOne ? to_one_ : to_all_;
    shared.busiest = BusiestOf(network, round.flows, static_cast<double>(round.bytes));
    for (int turn = 0; turn < kTimes; ++turn) planned_.push_back({round, tag});
  }
}

void CalibrationMachine::TakeSharing(const RoundOutcome& outcome) {
  Shared& shared = current_->tag == kToOne ? to_one_ : to_all_;
  double bytes = 0;
  for (const ProbeOutcome& flow : outcome.flows) bytes += flow.bytes;
  // Less than all when it took longer than a round may.
  const double moved = bytes / (static_cast<double>(current_->round.bytes) *
                                static_cast<double>(outcome.flows.size()));
  const double took_s = outcome.took_s - std::max(latency_s_, 0.0);
  const double needed_s = std::max(shared.busiest.port_s, shared.busiest.cut_s);
  if (took_s <= 0) return;
  shared.fractions.push_back(std::clamp(moved * needed_s / took_s, kFractionMin, 1.0));
  shared.queue_s.push_back(outcome.queue_s);
  shared.segments_sent += outcome.segments_sent;
  shared.segments_resent += outcome.segments_resent;
}

void CalibrationMachine::ExplainSharing(CalibrationResult& result) const {
  v1::MeasuredNetwork::Sharing& message = *result.message.mutable_sharing();
  if (!gaps_s_.empty()) {
    result.spec.transfer_gap_s = MedianOf(gaps_s_);
    message.set_transfer_gap_s(result.spec.transfer_gap_s);
  }
  if (to_all_.fractions.empty()) return;
  const BusiestSeconds& one = to_one_.busiest;
  const BusiestSeconds& all = to_all_.busiest;
  double ports = 1;
  if (!to_one_.fractions.empty() && one.port_s > one.cut_s) ports = MedianOf(to_one_.fractions);
  // What ports as they are towards one worker do not explain is the cuts', where these are loaded:
  // so that a prediction with both shares says what both rounds took.
  const double took_s = std::max(all.port_s, all.cut_s) / MedianOf(to_all_.fractions);
  const bool by_cut =
      all.cut_s > kCutLoaded * all.port_s && took_s > kUnexplained * all.port_s / ports;
  if (!by_cut) ports = std::clamp(all.port_s / took_s, kFractionMin, ports);
  result.spec.sharing_fraction = ports;
  // Nor may cuts, by the ports' share, take longer than was seen.
  if (by_cut || all.cut_s / ports > took_s) {
    result.spec.cut_sharing_fraction = std::clamp(all.cut_s / took_s, kFractionMin, 1.0);
  }
  message.set_workers(num_sharing_);
  message.set_port_fraction(ports);
  message.set_cut_fraction(result.spec.cut_sharing_fraction);
  message.set_segments_sent(to_all_.segments_sent);
  message.set_segments_resent(to_all_.segments_resent);
  if (to_all_.segments_sent > 0) {
    result.spec.sharing_resent_fraction =
        static_cast<double>(to_all_.segments_resent) / static_cast<double>(to_all_.segments_sent);
  } else {
    result.message.add_notes(
        "how many segments were sent again while all fetched from all is not known: the workers "
        "cannot tell");
  }
  message.set_port_queue_s(MedianOf(to_one_.queue_s));
  message.set_port_queue_bytes(message.port_queue_s() * channel_);
  if (!by_cut) return;
  double channels = 0;
  for (const NamedCut& cut : result.spec.cuts) {
    channels = channels == 0 ? cut.channels : std::min<double>(channels, cut.channels);
  }
  message.set_cut_queue_s(MedianOf(to_all_.queue_s));
  message.set_cut_queue_bytes(message.cut_queue_s() * channels * channel_);
}

}  // namespace weir::master
