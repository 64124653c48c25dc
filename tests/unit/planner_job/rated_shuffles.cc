#include "tests/unit/planner_job/rated_shuffles.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/units.h"
#include "tests/unit/planner_plan/naive_simulation.h"

namespace weir::planner {

bool Uses(const Plan& plan, const Transfer& transfer, std::size_t resource) {
  const std::size_t n = At(plan.network.num_workers);
  if (resource < n) return At(transfer.sender) == resource;
  if (resource < 2 * n) return At(transfer.receiver) == resource - n;
  return plan.network.cuts[resource - 2 * n].Crosses(transfer.sender, transfer.receiver);
}

std::size_t NumResources(const Plan& plan) {
  return 2 * At(plan.network.num_workers) + plan.network.cuts.size();
}

double Carries(const Plan& plan, std::size_t resource) {
  const NetworkModel& network = plan.network;
  const std::size_t n = At(network.num_workers);
  double rate = 1 / network.seconds_per_byte;
  if (network.pacing_fraction > 0) rate *= network.pacing_fraction;
  if (resource >= 2 * n) return rate * network.cuts[resource - 2 * n].channels;
  return network.port_slowdown.empty() ? rate : rate / network.port_slowdown[resource % n];
}

void ExpectRatesFit(const Plan& plan) {
  const Seconds touch_s = 1e-9 * plan.summary.makespan_s;
  for (std::size_t r = 0; r < NumResources(plan); ++r) {
    for (const Transfer& begins : plan.transfers) {
      double together = 0;
      for (const Transfer& other : plan.transfers) {
        const bool under_way = other.start_s <= begins.start_s &&
                               begins.start_s < other.start_s + other.duration_s - touch_s;
        if (under_way && Uses(plan, other, r)) together += other.rate_bytes_per_s;
      }
      RC_ASSERT(together <= Carries(plan, r) * (1 + 1e-6));
    }
  }
}

namespace {

/// A network on which rates of kSlowestRateBytesPerS do not matter.
NetworkModel DrawFastNetwork(std::int32_t num_workers) {
  NetworkModel network;
  network.num_workers = num_workers;
  network.seconds_per_byte = *rc::gen::element(1e-9, 3e-10, 1.1e-9);
  network.latency_s = *rc::gen::element(0.0, 0.001, 0.01);
  network.pacing_fraction = *rc::gen::element(0.0, 0.97, 0.8);
  if (*rc::gen::arbitrary<bool>()) {
    for (std::int32_t w = 0; w < num_workers; ++w) {
      network.port_slowdown.push_back(*rc::gen::element(1.0, 1.0, 1.3, 4.0));
    }
  }
  const int num_cuts = *rc::gen::inRange(0, 3);
  for (int c = 0; c < num_cuts; ++c) {
    Cut cut;
    cut.name = "cut";
    for (std::int32_t w = 0; w < num_workers; ++w) {
      cut.from.push_back(*rc::gen::arbitrary<bool>());
      cut.to.push_back(*rc::gen::arbitrary<bool>());
    }
    cut.channels = *rc::gen::inRange(1, 4);
    network.cuts.push_back(cut);
  }
  return network;
}

}  // namespace

Plan DrawShuffle(const std::function<Seconds()>& ready_s, std::int32_t workers_max) {
  const auto num_workers = *rc::gen::inRange<std::int32_t>(2, workers_max + 1);
  PlanAssembly assembly(DrawFastNetwork(num_workers));
  std::vector<MapperDraft> mappers;
  std::vector<ReducerDraft> reducers;
  for (std::int32_t w = 0; w < num_workers; ++w) {
    const auto bytes = *rc::gen::inRange<Bytes>(100'000'000, 2'000'000'000);
    mappers.push_back({w, bytes, bytes, 0, ready_s()});
    reducers.push_back({w, 0});
  }
  double left = 1;
  for (std::size_t k = 0; k < reducers.size(); ++k) {
    const bool last = k + 1 == reducers.size();
    reducers[k].load_fraction = last ? left : left * *rc::gen::element(0.2, 0.4, 0.6);
    left -= reducers[k].load_fraction;
  }
  RC_ASSERT(assembly.AddMappers(mappers).ok());
  LayerDraft layer;
  layer.reducers = reducers;
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.25; };
  RC_ASSERT(assembly.AddReducers(layer, {}).ok());
  return assembly.TakePlan();
}

void ExpectNaiveSimulationAgrees(Plan plan) {
  // Also where rates were not made to fit beside each other.
  if (*rc::gen::arbitrary<bool>()) {
    for (Transfer& transfer : plan.transfers) {
      const double most = std::min(Carries(plan, At(transfer.sender)),
                                   Carries(plan, At(plan.network.num_workers + transfer.receiver)));
      transfer.rate_bytes_per_s = most * *rc::gen::element(0.31, 0.45, 0.62, 1.0);
    }
    RC_ASSERT(AdoptPrediction(&plan).ok());
  }
  const absl::Status checked = CheckPlan(plan);
  RC_LOG() << checked << "\n";
  RC_ASSERT(checked.ok());
  ExpectRatesFit(plan);
  const NaiveTimes naive = SimulateNaively(plan);
  RC_ASSERT(std::abs(naive.makespan_s - plan.summary.makespan_s) <= 1e-9 * naive.makespan_s);
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    RC_ASSERT(std::abs(naive.transfers[t].start_s - plan.transfers[t].start_s) <=
              1e-9 * naive.makespan_s);
  }
}

}  // namespace weir::planner
