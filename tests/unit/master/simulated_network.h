#pragma once

// A network between workers that answers probes as max-min fair sharing says. Upstream: tests.
// Downstream: planner/plan/fair_sharing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/plan/network_model.h"
#include "planner/plan/predict/fair_sharing.h"
#include "runtime/master/calibrate/calibration_machine.h"

namespace weir::master {

/// When each flow of an ordered round ends that lasts so long, and begins once all before it have
/// ended.
inline std::vector<double> EndsInOrder(const ProbeRound& round,
                                       const std::vector<double>& lasts_s) {
  std::vector<double> end_s(round.flows.size(), -1);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t f = 0; f < end_s.size(); ++f) {
      if (end_s[f] >= 0) continue;
      double start_s = 0;
      bool waits = false;
      for (const std::size_t before : round.after[f]) {
        waits = waits || end_s[before] < 0;
        start_s = std::max(start_s, end_s[before]);
      }
      if (waits) continue;
      end_s[f] = start_s + lasts_s[f];
      more = true;
    }
  }
  return end_s;
}

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

  double gap_s = 0;         // between two ordered transfers of a port
  double port_sharing = 1;  // of a rate, where transfers share it without an order
  double cut_sharing = 1;
  double resent_fraction = 0;
  double queue_s = 0;

  RoundOutcome Run(const ProbeRound& round) {
    if (round.ordered()) return RunInOrder(round);
    if (round.bytes > 0) return RunShared(round);
    return {Run(round.flows), round.Seconds(), 0, 0, 0};
  }

  RoundOutcome RunInOrder(const ProbeRound& round) const {
    RoundOutcome outcome;
    outcome.flows.resize(round.flows.size());
    const double lasts_s =
        gap_s + static_cast<double>(round.bytes) / static_cast<double>(round.pacing_bytes_per_s);
    const std::vector<double> end_s =
        EndsInOrder(round, std::vector<double>(round.flows.size(), lasts_s));
    outcome.took_s = *std::max_element(end_s.begin(), end_s.end());
    return outcome;
  }

  RoundOutcome RunShared(const ProbeRound& round) {
    SimulatedNetwork shared = *this;
    for (double& rate : shared.up) rate *= port_sharing;
    for (double& rate : shared.down) rate *= port_sharing;
    for (double& rate : shared.cut_rate) rate *= cut_sharing;
    shared.noise = 0;
    RoundOutcome outcome;
    outcome.flows.resize(round.flows.size());
    std::vector<double> left(round.flows.size(), static_cast<double>(round.bytes));
    std::vector<std::size_t> moving;
    for (std::size_t f = 0; f < left.size(); ++f) moving.push_back(f);
    while (!moving.empty()) {
      std::vector<ProbeFlow> flows;
      for (const std::size_t f : moving) flows.push_back(round.flows[f]);
      const std::vector<ProbeOutcome> rates = shared.Run(flows);
      double step_s = 1e9;
      for (std::size_t i = 0; i < moving.size(); ++i) {
        step_s = std::min(step_s, left[moving[i]] / rates[i].bytes_per_s);
      }
      std::vector<std::size_t> still;
      for (std::size_t i = 0; i < moving.size(); ++i) {
        left[moving[i]] -= step_s * rates[i].bytes_per_s;
        if (left[moving[i]] > 1e-6 * static_cast<double>(round.bytes)) still.push_back(moving[i]);
      }
      moving = still;
      outcome.took_s += step_s;
    }
    outcome.took_s += latency_s;
    for (ProbeOutcome& flow : outcome.flows) flow.bytes = static_cast<double>(round.bytes);
    outcome.segments_sent = 1'000'000;
    outcome.segments_resent = static_cast<std::int64_t>(1e6 * resent_fraction);
    outcome.queue_s = queue_s;
    return outcome;
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
      outcomes.push_back({rate * Noise(), latency_s / 2, latency_s / 2, 0});
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
    calibration.Take(network.Run(*round));
  }
  return calibration.Result(now);
}

}  // namespace weir::master
