#include "tests/unit/master/random_plan.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "planner/order/lanes/order_by_lanes.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/order_store.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"

namespace weir::master {
namespace {

using planner::Bytes;
using planner::WorkerIndex;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  int Between(int min, int max) { return std::uniform_int_distribution<int>(min, max)(engine_); }
  double Real(double min, double max) {
    return std::uniform_real_distribution<double>(min, max)(engine_);
  }

 private:
  std::mt19937_64 engine_;
};

planner::NetworkModel RandomNetwork(Draw& draw, int num_workers) {
  planner::NetworkModel network;
  network.num_workers = num_workers;
  network.seconds_per_byte = draw.Real(1e-8, 1e-6);
  network.latency_s = draw.Between(0, 1) * draw.Real(0, 1e-3);
  if (draw.Between(0, 2) == 0) {
    for (int w = 0; w < num_workers; ++w) network.port_slowdown.push_back(draw.Real(1, 4));
  }
  const int num_cuts = draw.Between(0, 2);
  for (int c = 0; c < num_cuts; ++c) {
    planner::Cut cut;
    cut.name = "cut " + std::to_string(c);
    for (int w = 0; w < num_workers; ++w) {
      cut.from.push_back(draw.Between(0, 3) > 0);
      cut.to.push_back(draw.Between(0, 3) > 0);
    }
    cut.channels = draw.Between(1, 3);
    network.cuts.push_back(cut);
  }
  return network;
}

std::vector<planner::PieceDraft> RandomPieces(Draw& draw, int producers, int consumers) {
  std::vector<planner::PieceDraft> pieces;
  for (int round = 0; round < consumers; ++round) {
    for (int p = 0; p < producers; ++p) {
      const int num_pieces = draw.Between(1, 2);
      for (int i = 0; i < num_pieces; ++i) {
        pieces.push_back({p, (p + round) % consumers, draw.Real(0.5, 2), draw.Real(0, 2)});
      }
    }
  }
  return pieces;
}

/// Everything at once, at rates that stay or change over time, or some transfers of a port at a
/// time. There is room for all at once.
absl::Status OrderByAnyRates(Draw& draw, planner::Plan* plan) {
  const int way = draw.Between(0, 2);
  if (way == 0) return planner::OrderByRates(plan);
  if (way == 1) return planner::OrderByRatesOverTime(plan);
  plan->transfer_order = planner::TransferOrder::kOvertake;
  plan->network.transfer_gap_s = draw.Between(0, 1) * draw.Real(0, 1e-2);
  absl::Status status = planner::OrderByPriority(plan);
  if (status.ok()) status = planner::OrderByLanes(draw.Between(2, 4), plan).status();
  return status.ok() ? status : planner::OrderByRates(plan);
}

}  // namespace

planner::Plan RandomPlan(std::uint64_t seed, planner::TransferOrder order) {
  Draw draw(seed);
  const int num_workers = draw.Between(1, 6);
  planner::NetworkModel network = RandomNetwork(draw, num_workers);
  // So that there is room for all sockets at once.
  if (order == planner::TransferOrder::kRates) network.seconds_per_byte /= 10;
  planner::PlanAssembly assembly(std::move(network));
  int producers = draw.Between(1, 8);
  std::vector<planner::MapperDraft> mappers;
  for (int m = 0; m < producers; ++m) {
    const Bytes bytes = draw.Between(100'000, 2'000'000);
    mappers.push_back({static_cast<WorkerIndex>(draw.Between(0, num_workers - 1)), bytes,
                       bytes / draw.Between(1, 4), m * draw.Real(0, 0.05), draw.Real(0.001, 1)});
  }
  absl::Status status = assembly.AddMappers(mappers);
  const int num_layers = draw.Between(1, 4);
  planner::StoreDraft store;
  for (int layer = 0; layer < num_layers; ++layer) {
    const int consumers = draw.Between(1, 5);
    store.writers.clear();
    planner::LayerDraft reducers;
    for (int r = 0; r < consumers; ++r) {
      reducers.reducers.push_back(
          {static_cast<WorkerIndex>(draw.Between(0, num_workers - 1)), 1.0 / consumers});
      store.writers.push_back(reducers.reducers.back().worker);
    }
    reducers.output_ratio = draw.Real(0.2, 1);
    const double seconds_per_byte = draw.Real(1e-9, 1e-6);
    reducers.reduce_seconds = [seconds_per_byte](WorkerIndex, Bytes bytes) {
      return 0.001 + static_cast<double>(bytes) * seconds_per_byte;
    };
    status.Update(assembly.AddReducers(reducers, RandomPieces(draw, producers, consumers)));
    producers = consumers;
  }
  const int write_mode = draw.Between(0, 2);
  if (write_mode == 1) store.writers.resize(1);
  const double store_seconds_per_byte = draw.Real(1e-9, 1e-6);
  store.write_seconds = [store_seconds_per_byte](Bytes bytes) {
    return static_cast<double>(bytes) * store_seconds_per_byte;
  };
  store.begin_s = 1000;
  if (write_mode > 0) status.Update(assembly.AddStore(store));
  planner::Plan plan = assembly.TakePlan();
  plan.transfer_order = order;
  // Half of the plans wait on purpose: a list schedule never leaves anything to overtake.
  status.Update(order == planner::TransferOrder::kFetchAll
                    ? planner::OrderFetchAll(&plan, draw.Between(0, 3))
                : order == planner::TransferOrder::kRates ? OrderByAnyRates(draw, &plan)
                : draw.Between(0, 1) == 0                 ? planner::OrderByPriority(&plan)
                                                          : planner::OrderByStart(&plan));
  if (!status.ok() && planner::IsOrdered(order)) {
    // Wanted starts may contradict precedence; a list schedule never does.
    status = planner::OrderByPriority(&plan);
  }
  if (write_mode > 0) status.Update(planner::OrderStore(draw.Between(0, 3), &plan));
  EXPECT_TRUE(status.ok()) << status;
  const absl::Status feasible = planner::CheckPlan(plan);
  EXPECT_TRUE(feasible.ok()) << feasible;
  return plan;
}

}  // namespace weir::master
