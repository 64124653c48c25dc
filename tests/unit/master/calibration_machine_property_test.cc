// CalibrationMachine on random networks: what it finds is what was configured.

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "runtime/master/calibrate/calibration_machine.h"
#include "tests/unit/master/simulated_network.h"

namespace weir::master {
namespace {

constexpr double kRate = 5e6;
// What tests on emulated networks show of TCP, and the bound on what is found from it.
constexpr double kNoise = 0.04;
constexpr double kOff = 0.08;

void AddNoise(SimulatedNetwork& network) {
  network.noise = kNoise;
  network.noise_state = *rc::gen::arbitrary<std::uint32_t>();
}

std::vector<std::vector<std::string>> FoundRacks(const CalibrationResult& result) {
  std::vector<std::vector<std::string>> racks;
  for (const auto& rack : result.message.racks()) {
    racks.emplace_back(rack.workers().begin(), rack.workers().end());
  }
  std::sort(racks.begin(), racks.end());
  return racks;
}

void CheckChannel(const CalibrationResult& result) {
  RC_ASSERT(result.spec.channel_bytes_per_s <= kRate);
  RC_ASSERT(result.spec.channel_bytes_per_s >= kRate * (1 - kOff));
  RC_ASSERT(ParseNetworkSpec(result.message.spec_json()).ok());
}

RC_GTEST_PROP(CalibrationProperty, TwoRacksInAnyOrderAreFound, ()) {
  const int size_a = *rc::gen::inRange(2, 9);
  const int size_b = *rc::gen::inRange(2, 9);
  const int least = std::min(size_a, size_b);
  std::vector<int> rack_of(static_cast<std::size_t>(size_a), 0);
  rack_of.resize(static_cast<std::size_t>(size_a + size_b), 1);
  // Neighbours as administrators name them, or in any order.
  if (*rc::gen::arbitrary<bool>())
    rack_of = *rc::gen::apply(
        [](std::vector<int> v, int by) {
          std::rotate(v.begin(), v.begin() + by, v.end());
          return v;
        },
        rc::gen::just(rack_of), rc::gen::inRange(0, size_a + size_b));
  // From one channel to what every matching shows.
  const double most = 0.7 * least;
  const auto channels = [&] { return std::max(1.0, most * *rc::gen::inRange(50, 101) / 100.0); };
  const double a_to_b = std::min(channels(), most < 1 ? 1.0 : most);
  const double b_to_a = std::min(channels(), most < 1 ? 1.0 : most);
  SimulatedNetwork network = RacksNetwork(rack_of, kRate, {a_to_b * kRate, b_to_a * kRate}, {0, 0});
  AddNoise(network);
  const CalibrationResult result = Calibrate(network, absl::Seconds(600));
  CheckChannel(result);
  std::vector<std::vector<std::string>> expected(2);
  const std::vector<std::string> names = WorkerNames(rack_of.size());
  for (std::size_t w = 0; w < names.size(); ++w) {
    expected[static_cast<std::size_t>(rack_of[w])].push_back(names[w]);
  }
  std::sort(expected.begin(), expected.end());
  RC_ASSERT(FoundRacks(result) == expected);
  for (const auto& cut : result.message.cuts()) {
    const bool first_is_a = rack_of[0] == 0;
    const bool of_first = cut.name().find(names[0]) != std::string::npos;
    const bool up = cut.name().ends_with("up");
    const double configured = (of_first == up) == first_is_a ? a_to_b : b_to_a;
    RC_ASSERT(cut.measured_channels() < configured * (1 + kOff));
    RC_ASSERT(cut.measured_channels() > configured * (1 - kOff));
    RC_ASSERT(cut.channels() >= 1);
  }
}

RC_GTEST_PROP(CalibrationProperty, OneTotalIsFound, ()) {
  const int num_workers = *rc::gen::inRange(3, 17);
  const int even = num_workers / 2 * 2;
  const double channels = std::max(1.0, 0.75 * even * *rc::gen::inRange(10, 101) / 100.0);
  SimulatedNetwork network = TotalNetwork(num_workers, kRate, channels * kRate);
  AddNoise(network);
  const CalibrationResult result = Calibrate(network, absl::Seconds(600));
  CheckChannel(result);
  RC_ASSERT(result.message.racks_size() == 0);
  RC_ASSERT(result.message.cuts_size() == 1);
  RC_ASSERT(result.message.cuts(0).measured_channels() > channels * (1 - kOff));
  RC_ASSERT(result.message.cuts(0).measured_channels() < channels * (1 + kOff));
}

RC_GTEST_PROP(CalibrationProperty, AMinorityOfSlowPortsIsFoundAndIsNoCut, ()) {
  const int num_workers = *rc::gen::inRange(4, 13);
  SimulatedNetwork network =
      RacksNetwork(std::vector<int>(static_cast<std::size_t>(num_workers), 0), kRate, {0}, {0});
  AddNoise(network);
  const int num_slow = *rc::gen::inRange(0, num_workers / 4 + 1);
  std::vector<int> order(static_cast<std::size_t>(num_workers));
  for (int w = 0; w < num_workers; ++w) order[static_cast<std::size_t>(w)] = w;
  std::uint64_t state = *rc::gen::arbitrary<std::uint32_t>();
  for (std::size_t left = order.size(); left > 1; --left) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::swap(order[left - 1], order[(state >> 33) % left]);
  }
  std::vector<std::string> slow;
  const std::vector<std::string> names = WorkerNames(order.size());
  for (int i = 0; i < num_slow; ++i) {
    const auto w = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    const double factor = *rc::gen::element(2.0, 4.0, 10.0);
    const int which = *rc::gen::inRange(0, 3);
    if (which != 1) network.up[w] /= factor;
    if (which != 0) network.down[w] /= factor;
    slow.push_back(names[w]);
  }
  std::sort(slow.begin(), slow.end());
  const CalibrationResult result = Calibrate(network, absl::Seconds(600));
  CheckChannel(result);
  std::vector<std::string> found;
  for (const auto& [name, rate] : result.spec.port_bytes_per_s) {
    found.push_back(name);
    const auto w =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    const double configured = std::min(network.up[w], network.down[w]);
    RC_ASSERT(rate <= configured);
    RC_ASSERT(rate >= configured * (1 - kOff));
  }
  RC_ASSERT(found == slow);
  RC_ASSERT(result.spec.cuts.empty());
}

// Of two racks, or one limited total, or neither; some with a slow port.
SimulatedNetwork AnyNetwork() {
  const int num_workers = *rc::gen::inRange(3, 13);
  const double core = kRate * *rc::gen::inRange(1, 4);
  std::vector<int> rack_of;
  for (int w = 0; w < num_workers; ++w) rack_of.push_back(w % 2);
  const int kind = num_workers < 6 ? 0 : *rc::gen::inRange(0, 3);
  SimulatedNetwork network = kind == 2   ? TotalNetwork(num_workers, kRate, core)
                             : kind == 1 ? RacksNetwork(rack_of, kRate, {core, core}, {core, core})
                                         : RacksNetwork(rack_of, kRate, {0, 0}, {0, 0});
  if (kind == 0 && num_workers > 3 && *rc::gen::arbitrary<bool>()) network.up[1] /= 4;
  return network;
}

RC_GTEST_PROP(CalibrationProperty, GapAndSharesAreThoseOfTheNetwork, ()) {
  SimulatedNetwork network = AnyNetwork();
  network.gap_s = *rc::gen::inRange(1, 200) * 1e-4;
  network.port_sharing = *rc::gen::inRange(50, 101) / 100.0;
  network.cut_sharing = *rc::gen::inRange(50, 101) / 100.0;
  network.resent_fraction = *rc::gen::inRange(0, 100) / 1000.0;
  const CalibrationResult result = Calibrate(network, absl::Seconds(600));
  RC_ASSERT(std::abs(result.spec.transfer_gap_s - network.gap_s) < 1e-6);
  RC_ASSERT(std::abs(result.spec.sharing_resent_fraction - network.resent_fraction) < 1e-6);
  planner::NetworkModel found;
  found.num_workers = static_cast<std::int32_t>(network.up.size());
  ApplyNetworkSpec(result.spec, WorkerNames(network.up.size()), found);
  RC_ASSERT(planner::CheckNetwork(found).ok());
  // One hides the other where it is slower; what both make of a shuffle is what was seen.
  std::vector<bool> slow;
  for (const double rate : network.up) slow.push_back(rate < kRate);
  ProbeRound all;
  all.flows = AllToAll(SpreadWorkers(slow, 16));
  all.bytes = static_cast<std::int64_t>(kRate);
  const double took_s = network.RunShared(all).took_s - network.latency_s;
  const BusiestSeconds busiest = BusiestOf(found, all.flows, kRate);
  const double said_s =
      std::max(busiest.port_s / found.sharing_fraction, busiest.cut_s / found.CutSharing());
  RC_ASSERT(std::abs(said_s / took_s - 1) < 0.02);
  if (network.cut_rate.empty()) {
    RC_ASSERT(std::abs(result.spec.sharing_fraction - network.port_sharing) < 0.01);
  }
  RC_ASSERT(ParseNetworkSpec(result.message.spec_json()).ok());
}

// What the order's rounds let move at once is what ports and cuts carry, whatever each takes.
RC_GTEST_PROP(CalibrationProperty, AnOrderedRoundKeepsPortsAndCuts, ()) {
  SimulatedNetwork network = AnyNetwork();
  MonoTime now = MonoTime::FromNanos(5);
  CalibrationMachine calibration(WorkerNames(network.up.size()), absl::Seconds(600), 7, now);
  int num_ordered = 0;
  while (const std::optional<ProbeRound> round = calibration.Next(now)) {
    now = now + absl::Seconds(round->Seconds());
    calibration.Take(network.Run(*round));
    if (!round->ordered()) continue;
    ++num_ordered;
    planner::NetworkModel found;
    found.num_workers = static_cast<std::int32_t>(network.up.size());
    ApplyNetworkSpec(calibration.Result(now).spec, WorkerNames(network.up.size()), found);
    std::vector<double> lasts_s;
    for (std::size_t f = 0; f < round->flows.size(); ++f) {
      lasts_s.push_back(*rc::gen::inRange(1, 100));
    }
    const std::vector<double> end_s = EndsInOrder(*round, lasts_s);
    for (std::size_t f = 0; f < end_s.size(); ++f) {
      // At the moment it begins.
      const double begin_s = end_s[f] - lasts_s[f];
      std::vector<int> at_once(found.cuts.size(), 0);
      for (std::size_t g = 0; g < end_s.size(); ++g) {
        const bool moves = end_s[g] > begin_s && end_s[g] - lasts_s[g] <= begin_s;
        if (!moves) continue;
        RC_ASSERT(f == g || (round->flows[f].sender != round->flows[g].sender &&
                             round->flows[f].receiver != round->flows[g].receiver));
        for (const std::int32_t cut :
             planner::CutsCrossed(found, round->flows[g].sender, round->flows[g].receiver)) {
          RC_ASSERT(++at_once[planner::At(cut)] <= found.cuts[planner::At(cut)].channels);
        }
      }
    }
  }
  RC_ASSERT(num_ordered == 3);
}

RC_GTEST_PROP(CalibrationProperty, AnyAnswersEndInTimeWithASoundSpec, ()) {
  const int num_workers = *rc::gen::inRange(2, 20);
  const double seconds = *rc::gen::inRange(1, 60);
  std::uint64_t state = *rc::gen::arbitrary<std::uint32_t>();
  MonoTime now = MonoTime::FromNanos(5);
  const MonoTime began = now;
  CalibrationMachine calibration(WorkerNames(static_cast<std::size_t>(num_workers)),
                                 absl::Seconds(seconds), state, now);
  double done = 0;
  while (const std::optional<ProbeRound> round = calibration.Next(now)) {
    std::vector<bool> sends(static_cast<std::size_t>(num_workers), false);
    std::vector<bool> receives(static_cast<std::size_t>(num_workers), false);
    const bool shuffle = round->bytes > 0;
    RC_ASSERT(!round->flows.empty());
    RC_ASSERT(round->after.empty() || round->after.size() == round->flows.size());
    for (const ProbeFlow& flow : round->flows) {
      RC_ASSERT(flow.sender != flow.receiver);
      if (shuffle) continue;
      RC_ASSERT(!sends[static_cast<std::size_t>(flow.sender)]);
      RC_ASSERT(!receives[static_cast<std::size_t>(flow.receiver)]);
      sends[static_cast<std::size_t>(flow.sender)] = true;
      receives[static_cast<std::size_t>(flow.receiver)] = true;
    }
    RoundOutcome outcome;
    const auto random = [&state] {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<double>(state >> 40);
    };
    for (std::size_t i = 0; i < round->flows.size(); ++i) {
      outcome.flows.push_back({random(), 1e-3, 1e-3, random()});
    }
    outcome.took_s = random() * 1e-6;
    outcome.segments_sent = static_cast<std::int64_t>(random());
    outcome.segments_resent = std::min(outcome.segments_sent, static_cast<std::int64_t>(random()));
    now = now + absl::Seconds(round->Seconds());
    calibration.Take(outcome);
    RC_ASSERT(calibration.done_fraction() >= done);
    done = calibration.done_fraction();
  }
  RC_ASSERT(now - began <= absl::Seconds(seconds));
  const CalibrationResult result = calibration.Result(now);
  RC_ASSERT(ParseNetworkSpec(result.message.spec_json()).ok());
  for (const NamedCut& cut : result.spec.cuts) RC_ASSERT(cut.channels >= 1);
}

}  // namespace
}  // namespace weir::master
