#include "planner/job/builders/job_chain.h"

#include <algorithm>
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

}  // namespace

Chain ChainOf(const JobShape& shape, const ClusterProfile& cluster) {
  const double map_rate = shape.map_seconds_per_byte.value;
  const std::int32_t workers = cluster.network.num_workers;
  const double pacing = cluster.network.pacing_fraction > 0 ? cluster.network.pacing_fraction : 1;
  Chain chain;
  chain.num_mappers = shape.num_mappers > 0 ? shape.num_mappers : MappersMax(shape, workers);
  chain.input_bytes = static_cast<double>(shape.input_bytes);
  chain.map_seconds_per_byte = map_rate;
  chain.map_startup_s = shape.map_startup_s.value;
  SetOutputRatio(shape, chain);
  chain.channels = EffectiveChannels(cluster.network);
  chain.channel_seconds_per_byte =
      std::max(kFreePart * map_rate,
               cluster.network.seconds_per_byte / pacing * (1 - 1.0 / std::max(2, workers)));
  for (const LayerShape& layer : shape.layers) {
    chain.reducers.push_back({layer.num_reducers > 0 ? layer.num_reducers : workers,
                              std::max(kFreePart * map_rate, layer.reduce_seconds_per_byte.value),
                              layer.startup_s.value, layer.output_ratio.value,
                              load::ReduceCurve::kLinear, layer.reduce_growth});
  }
  SetFinalStore(shape.store, cluster.network, chain);
  return chain;
}

std::int32_t& CountOf(Chain& chain, std::size_t p) {
  return p == 0 ? chain.num_mappers : chain.reducers[p - 1].num_reducers;
}

void SetOutputRatio(const JobShape& shape, Chain& chain) {
  chain.map_output_ratio = MapOutputRatio(shape, chain.input_bytes / chain.num_mappers);
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
    SetOutputRatio(shape, few);
    chains.push_back(std::move(few));
  }
  absl::StatusOr<Chain> chosen = load::ChooseCounts(all, limits);
  if (chosen.ok()) chains.push_back(*std::move(chosen));
  chains.push_back(all);
  return chains;
}

}  // namespace weir::planner
