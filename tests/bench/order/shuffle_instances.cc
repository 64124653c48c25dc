#include "tests/bench/order/shuffle_instances.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "planner/order/plan_assembly.h"
#include "planner/order/unevenness.h"

namespace weir::bench {

using planner::At;
using planner::Bytes;
using planner::NetworkModel;
using planner::Plan;
using planner::Seconds;
using planner::WorkerIndex;

namespace {

// A section of the mean size takes this long at full rate: a few grants' worth.
constexpr Seconds kSectionS = 0.4;
constexpr double kSecondsPerByte = 1 / 1.25e8;
constexpr Seconds kLatencyS = 1e-3;
// Racks of 16 hosts, or of a quarter of all, behind a quarter of their ports.
constexpr std::int32_t kRackHosts = 16;
constexpr std::int32_t kOversubscription = 4;
// Three levels: 16 racks of at most 16 hosts, or more, in pods of four.
constexpr std::int32_t kRacks = 16;
constexpr std::int32_t kPodRacks = 4;

/// Adds the way out of and the way into each group of so many hosts, with a part of their ports.
void AddLevel(const std::string& name, std::int32_t hosts, std::int32_t oversubscription,
              NetworkModel* network) {
  const std::int32_t n = network->num_workers;
  for (WorkerIndex first = 0; first < n; first += hosts) {
    const std::int32_t in_group = std::min(hosts, n - first);
    for (const bool up : {true, false}) {
      planner::Cut cut;
      cut.name = name + (up ? "up" : "down") + std::to_string(first / hosts);
      cut.channels = std::max(1, in_group / oversubscription);
      for (WorkerIndex w = 0; w < n; ++w) {
        const bool inside = w >= first && w < first + hosts;
        cut.from.push_back(inside == up);
        cut.to.push_back(inside != up);
      }
      network->cuts.push_back(std::move(cut));
    }
  }
}

}  // namespace

NetworkModel PortsOnly(std::int32_t n) {
  NetworkModel network;
  network.num_workers = n;
  network.seconds_per_byte = kSecondsPerByte;
  network.latency_s = kLatencyS;
  return network;
}

NetworkModel OneTotal(std::int32_t n) {
  NetworkModel network = planner::LimitedTotal(n, kSecondsPerByte, n / kOversubscription);
  network.latency_s = kLatencyS;
  return network;
}

NetworkModel Racks(std::int32_t n) {
  NetworkModel network = PortsOnly(n);
  AddLevel("", std::min(kRackHosts, n / kOversubscription), kOversubscription, &network);
  return network;
}

NetworkModel ThreeLevels(std::int32_t n, std::int32_t of_racks, std::int32_t of_pods) {
  NetworkModel network = PortsOnly(n);
  const std::int32_t hosts = std::clamp(n / kRacks, 2, kRackHosts);
  AddLevel("rack ", hosts, of_racks, &network);
  AddLevel("pod ", kPodRacks * hosts, of_pods, &network);
  return network;
}

double Equal(std::int32_t, std::int32_t, std::int32_t) { return 1; }

// Zipf's law with exponent 1/2, so that the first receiver gets some sqrt(n) / 2 times its share;
// mappers differ by up to a fifth.
double SkewedKeys(std::int32_t n, std::int32_t producer, std::int32_t consumer) {
  const double mean = 2 / std::sqrt(static_cast<double>(n));
  return (0.8 + 0.4 * planner::Unevenness(1, static_cast<std::uint64_t>(producer))) /
         std::sqrt(consumer + 1.0) / mean;
}

// Each section for itself, so that all ports have about as much to move.
double Random(std::int32_t n, std::int32_t producer, std::int32_t consumer) {
  return 0.2 +
         1.6 * planner::Unevenness(2, static_cast<std::uint64_t>(producer) * At(n) + At(consumer));
}

Plan Shuffle(const NetworkModel& network, Sizes sizes, int waves) {
  const std::int32_t n = network.num_workers;
  const Seconds wave_s = kSectionS * n / 2 / std::max(1, waves - 1);
  planner::PlanAssembly assembly(network);
  std::vector<planner::MapperDraft> mappers;
  planner::LayerDraft layer;
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  // Assembly cuts by fractions; the sizes that matter are put in afterwards.
  const auto mean_bytes = static_cast<Bytes>(kSectionS / kSecondsPerByte);
  for (WorkerIndex w = 0; w < n; ++w) {
    mappers.push_back({w, mean_bytes * n, mean_bytes * n, 0, wave_s * (w % waves)});
    layer.reducers.push_back({w, 1.0 / n});
  }
  std::vector<planner::PieceDraft> pieces;
  for (std::int32_t round = 0; round < n; ++round) {
    for (std::int32_t j = 0; j < n; ++j) pieces.push_back({j, (j + round) % n});
  }
  absl::Status status = assembly.AddMappers(mappers);
  status.Update(assembly.AddReducers(layer, pieces));
  Plan plan = assembly.TakePlan();
  const auto bytes_of = [&](planner::StepIndex producer, planner::StepIndex consumer) {
    return static_cast<Bytes>(
        static_cast<double>(mean_bytes) *
        sizes(n, plan.steps[At(producer)].worker, plan.steps[At(consumer)].worker));
  };
  for (planner::Section& section : plan.sections) {
    section.bytes = bytes_of(section.producer, section.consumer);
  }
  for (planner::Transfer& transfer : plan.transfers) {
    transfer.bytes = bytes_of(transfer.producer, transfer.consumer);
  }
  for (planner::ComputeStep& step : plan.steps) {
    (step.layer == 0 ? step.output_bytes : step.input_bytes) = 0;
  }
  for (const planner::Section& section : plan.sections) {
    plan.steps[At(section.producer)].output_bytes += section.bytes;
    plan.steps[At(section.consumer)].input_bytes += section.bytes;
  }
  for (planner::ComputeStep& step : plan.steps) {
    if (step.layer == 1) step.output_bytes = step.input_bytes;
  }
  if (!status.ok()) {
    std::fprintf(stderr, "cannot assemble: %s\n", status.ToString().c_str());
    std::exit(1);
  }
  return plan;
}

bool MeasureShuffles(const std::string& network, const NetworkModel& model,
                     const std::function<bool(const Instance&)>& measure) {
  bool kept = true;
  for (const auto& [sections, by] : {std::pair("equal", &Equal), std::pair("skewed", &SkewedKeys),
                                     std::pair("random", &Random)}) {
    for (const int waves : {1, kWaves}) {
      const Instance instance{network, sections, waves == 1 ? "at once" : "in waves",
                              Shuffle(model, by, waves)};
      kept = measure(instance) && kept;
    }
  }
  return kept;
}

}  // namespace weir::bench
