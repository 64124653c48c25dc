#pragma once

// A network between workers that answers probes as max-min fair sharing says. Upstream: tests.
// Downstream: planner/plan/fair_sharing.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/plan/network_model.h"
#include "planner/plan/predict/fair_sharing.h"
#include "runtime/master/calibrate/calibration_machine.h"

namespace weir::master {

/// Links with real-valued rates; `model` says who crosses which cut (its channels do not matter).
struct SimulatedNetwork {
  planner::NetworkModel model;
  std::vector<double> up;  // bytes per second, by worker
  std::vector<double> down;
  std::vector<double> cut_rate;  // by cut of the model
  double latency_s = 5e-4;
  double noise = 0;  // every measured rate is between 1 - noise and 1 of the true one
  std::uint64_t noise_state = 1;

  double Noise() {
    noise_state = noise_state * 6364136223846793005U + 1442695040888963407U;
    return 1 - noise * static_cast<double>(noise_state >> 40) * 0x1p-24;
  }

  std::vector<ProbeOutcome> Run(const std::vector<ProbeFlow>& flows) {
    planner::SharingProblem problem;
    problem.capacity = up;
    problem.capacity.insert(problem.capacity.end(), down.begin(), down.end());
    problem.capacity.insert(problem.capacity.end(), cut_rate.begin(), cut_rate.end());
    std::vector<std::int32_t> active;
    for (const ProbeFlow& flow : flows) {
      active.push_back(static_cast<std::int32_t>(active.size()));
      planner::AddFlow(model, flow.sender, flow.receiver, problem);
    }
    std::vector<double> rates(flows.size());
    planner::MaxMinRates(problem, active, &rates);
    std::vector<ProbeOutcome> outcomes;
    for (const double rate : rates) {
      outcomes.push_back({rate * Noise(), latency_s / 2, latency_s / 2});
    }
    return outcomes;
  }
};

/// Racks by worker; `up` and `down` hold a rate a rack, 0 = no limit.
inline SimulatedNetwork RacksNetwork(const std::vector<int>& rack_of, double port_rate,
                                     const std::vector<double>& up,
                                     const std::vector<double>& down) {
  SimulatedNetwork network;
  network.model.num_workers = static_cast<std::int32_t>(rack_of.size());
  network.up.assign(rack_of.size(), port_rate);
  network.down.assign(rack_of.size(), port_rate);
  for (std::size_t r = 0; r < up.size(); ++r) {
    planner::Cut cut;
    for (const int rack : rack_of) {
      cut.from.push_back(rack == static_cast<int>(r));
      cut.to.push_back(rack != static_cast<int>(r));
    }
    if (up[r] > 0) {
      network.model.cuts.push_back(cut);
      network.cut_rate.push_back(up[r]);
    }
    std::swap(cut.from, cut.to);
    if (down[r] > 0) {
      network.model.cuts.push_back(cut);
      network.cut_rate.push_back(down[r]);
    }
  }
  return network;
}

inline SimulatedNetwork TotalNetwork(int num_workers, double port_rate, double total_rate) {
  SimulatedNetwork network;
  network.model.num_workers = num_workers;
  network.up.assign(static_cast<std::size_t>(num_workers), port_rate);
  network.down = network.up;
  planner::Cut all{"total", std::vector<bool>(network.up.size(), true),
                   std::vector<bool>(network.up.size(), true), 1};
  network.model.cuts.push_back(all);
  network.cut_rate.push_back(total_rate);
  return network;
}

/// "w00", "w01", ...
inline std::vector<std::string> WorkerNames(std::size_t n) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n; ++i) {
    names.push_back((i < 10 ? "w0" : "w") + std::to_string(i));
  }
  return names;
}

/// Runs a calibration to its end; every round takes its own time and a little more.
inline CalibrationResult Calibrate(SimulatedNetwork& network,
                                   absl::Duration at_most = absl::Seconds(120)) {
  MonoTime now = MonoTime::FromNanos(1'000'000'000);
  CalibrationMachine calibration(WorkerNames(network.up.size()), at_most, 7, now);
  while (const std::optional<ProbeRound> round = calibration.Next(now)) {
    now = now + absl::Seconds(round->Seconds() + 0.02);
    calibration.Take(network.Run(round->flows), now);
  }
  return calibration.Result(now);
}

}  // namespace weir::master
