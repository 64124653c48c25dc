#include "planner/job/builders/job_chain.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/status/statusor.h"
#include "planner/job/job_bound.h"
#include "planner/job/map_chunks.h"
#include "planner/job/store_steps.h"
#include "planner/load/choose_counts.h"

namespace weir::planner {
namespace {

using load::Chain;

// The model needs positive costs. A cost of zero becomes this part of the map rate; predictions use
// the real ones.
constexpr double kFreePart = 1e-9;

load::CountLimits LimitsOf(const JobShape& shape, const Chain& chain) {
  load::CountLimits limits;
  limits.counts_max.push_back(chain.num_mappers);
  limits.fixed.push_back(shape.num_mappers > 0);
  for (std::size_t p = 0; p < chain.reducers.size(); ++p) {
    limits.counts_max.push_back(chain.reducers[p].num_reducers);
    limits.fixed.push_back(shape.layers[p].num_reducers > 0);
  }
  return limits;
}

/// By layer, from the mappers: mean compute rate of as many of the fastest workers as it has steps,
/// of all where there are fewer.
std::vector<double> MeanRates(const ClusterProfile& cluster, Chain& chain) {
  std::vector<double> rates;
  for (const WorkerProfile& worker : cluster.workers) rates.push_back(worker.compute_rate);
  std::sort(rates.begin(), rates.end(), std::greater<>());
  std::partial_sum(rates.begin(), rates.end(), rates.begin());
  std::vector<double> means;
  for (std::size_t p = 0; p <= chain.reducers.size(); ++p) {
    const auto steps = static_cast<std::size_t>(std::max(1, CountOf(chain, p)));
    const std::size_t used = std::min(steps, rates.size());
    means.push_back(rates[used - 1] / static_cast<double>(used));
  }
  return means;
}

/// What depends on how many mappers and reducers there are.
void SetByCounts(const JobShape& shape, const ClusterProfile& cluster, Chain& chain) {
  SetOutputRatio(shape, chain);
  SetCosts(shape, MeanRates(cluster, chain), chain);
}

}  // namespace

Chain ChainOf(const JobShape& shape, const ClusterProfile& cluster) {
  const std::int32_t workers = cluster.network.num_workers;
  const double pacing = cluster.network.pacing_fraction > 0 ? cluster.network.pacing_fraction : 1;
  Chain chain;
  chain.num_mappers = shape.num_mappers > 0 ? shape.num_mappers : MappersMax(shape, workers);
  chain.input_bytes = static_cast<double>(shape.input_bytes);
  chain.map_startup_s = shape.map_startup_s.value;
  for (const LayerShape& layer : shape.layers) {
    chain.reducers.push_back({layer.num_reducers > 0 ? layer.num_reducers : workers, 0,
                              layer.startup_s.value, layer.output_ratio.value,
                              load::ReduceCurve::kLinear, layer.reduce_growth});
  }
  SetByCounts(shape, cluster, chain);
  chain.channels = EffectiveChannels(cluster.network);
  chain.channel_seconds_per_byte =
      std::max(kFreePart * chain.map_seconds_per_byte,
               cluster.network.seconds_per_byte / pacing * (1 - 1.0 / std::max(2, workers)));
  SetFinalStore(shape.store, cluster.network, chain);
  return chain;
}

std::int32_t& CountOf(Chain& chain, std::size_t p) {
  return p == 0 ? chain.num_mappers : chain.reducers[p - 1].num_reducers;
}

void SetOutputRatio(const JobShape& shape, Chain& chain) {
  chain.map_output_ratio = MapOutputRatio(shape, chain.input_bytes / chain.num_mappers);
}

void SetCosts(const JobShape& shape, absl::Span<const double> rates, Chain& chain) {
  const double map_cost = shape.map_seconds_per_byte.value / rates[0];
  chain.map_seconds_per_byte = map_cost;
  for (std::size_t p = 0; p < chain.reducers.size(); ++p) {
    const LayerShape& layer = shape.layers[p];
    load::ChainReducers& reducers = chain.reducers[p];
    reducers.seconds_per_byte =
        std::max(kFreePart * map_cost, layer.reduce_seconds_per_byte.value / rates[p + 1]);
    reducers.growth.seconds_per_byte = layer.reduce_growth.seconds_per_byte / rates[p + 1];
  }
}

std::vector<Chain> ChainsOf(const JobShape& shape, const ClusterProfile& cluster) {
  const Chain all = ChainOf(shape, cluster);
  const load::CountLimits limits = LimitsOf(shape, all);
  std::vector<Chain> chains;
  for (std::int32_t count = 1; count < cluster.network.num_workers; count *= 2) {
    Chain few = all;
    for (std::size_t p = 0; p < limits.fixed.size(); ++p) {
      if (!limits.fixed[p]) CountOf(few, p) = count;
    }
    SetByCounts(shape, cluster, few);
    chains.push_back(std::move(few));
  }
  absl::StatusOr<Chain> chosen = load::ChooseCounts(all, limits);
  if (chosen.ok()) {
    SetCosts(shape, MeanRates(cluster, *chosen), *chosen);
    chains.push_back(*std::move(chosen));
  }
  chains.push_back(all);
  return chains;
}

}  // namespace weir::planner
