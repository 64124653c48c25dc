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
    for (const ProbeFlow& flow : round->flows) {
      RC_ASSERT(flow.sender != flow.receiver);
      RC_ASSERT(!sends[static_cast<std::size_t>(flow.sender)]);
      RC_ASSERT(!receives[static_cast<std::size_t>(flow.receiver)]);
      sends[static_cast<std::size_t>(flow.sender)] = true;
      receives[static_cast<std::size_t>(flow.receiver)] = true;
    }
    std::vector<ProbeOutcome> outcomes;
    for (std::size_t i = 0; i < round->flows.size(); ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      outcomes.push_back({static_cast<double>(state >> 40), 1e-3, 1e-3});
    }
    now = now + absl::Seconds(round->Seconds());
    calibration.Take(outcomes, now);
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
