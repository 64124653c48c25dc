#include "planner/job/job_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "planner/job/map_chunks.h"
#include "planner/job/rack_loads.h"
#include "planner/job/store_steps.h"
#include "planner/load/cut_bound.h"

namespace weir::planner {
namespace {

// Grid of d, the largest share of the keys on one worker.
constexpr int kSharesTried = 64;
// Up to this many mappers each number is tried.
constexpr std::int32_t kMapperCountsTried = 64;
// Sums of doubles lose less than this part.
constexpr double kRounding = 1 - 1e-9;

std::vector<double> FastestFirst(const ClusterProfile& cluster) {
  std::vector<double> rates;
  for (const WorkerProfile& worker : cluster.workers) rates.push_back(worker.compute_rate);
  std::sort(rates.begin(), rates.end(), std::greater<>());
  return rates;
}

std::size_t UsableWorkers(std::int32_t requested, std::size_t num_workers) {
  return requested > 0 ? std::min(static_cast<std::size_t>(requested), num_workers) : num_workers;
}

/// Least T with sum_w rate_w (T - w S)+ >= work: each further worker helps only once it has
/// started.
Seconds MapBound(const std::vector<double>& rates, std::size_t num_workers, Seconds startup_s,
                 double work_s) {
  double rate_sum = 0;
  double start_sum = 0;
  Seconds least_s = std::numeric_limits<double>::infinity();
  for (std::size_t w = 0; w < num_workers; ++w) {
    const Seconds start_s = static_cast<double>(w + 1) * startup_s;
    if (start_s > least_s) break;
    rate_sum += rates[w];
    start_sum += rates[w] * start_s;
    least_s = std::min(least_s, (work_s + start_sum) / rate_sum);
  }
  return least_s;
}

/// Least time of the last reducers with their writing, which both take place on the same workers.
/// Each worker has x_w / rate_w * a + write * (g x_w - n_w / 2), n_w steps that round by half a
/// byte.
Seconds ReduceAndWriteBound(const std::vector<double>& rates, std::size_t num_workers,
                            const LayerShape& layer, double num_steps, double bytes,
                            double write_seconds_per_byte) {
  double capacity = 0;  // input bytes a second, all workers
  double fastest = 0;
  for (std::size_t w = 0; w < num_workers; ++w) {
    const double seconds_per_byte = layer.reduce_seconds_per_byte.value / rates[w] +
                                    write_seconds_per_byte * layer.output_ratio.value;
    if (seconds_per_byte <= 0) return layer.startup_s.value;
    capacity += 1 / seconds_per_byte;
    fastest = std::max(fastest, 1 / seconds_per_byte);
  }
  const double rounded = num_steps * write_seconds_per_byte * fastest / 2;
  return layer.startup_s.value + std::max(0.0, bytes - rounded) / capacity;
}

/// How many steps a layer can have where the shape leaves it open.
double StepsMax(std::int32_t requested, std::size_t num_workers) {
  return requested > 0 ? requested : static_cast<double>(num_workers);
}

/// End of the first shuffle when at least `moved` of the mappers' `shuffled_bytes` crosses the
/// network.
Seconds ShuffleBound(const JobShape& shape, const ClusterProfile& cluster, double rate_max,
                     double shuffled_bytes, double moved) {
  load::Layer layer;
  layer.kind = load::LayerKind::kMapper;
  layer.load_bytes = static_cast<double>(shape.input_bytes) * kRounding;
  layer.channel_seconds_per_byte = cluster.network.seconds_per_byte;
  layer.output_ratio = shuffled_bytes * moved / layer.load_bytes;
  layer.mapper_startup_s = shape.map_startup_s.value;
  layer.compute = load::ComputeFunction::Linear(shape.map_seconds_per_byte.value / rate_max, 0);
  std::int32_t channels = cluster.network.num_workers;
  for (const Cut& cut : cluster.network.cuts) {
    const bool all = std::all_of(cut.from.begin(), cut.from.end(), [](bool in) { return in; }) &&
                     std::all_of(cut.to.begin(), cut.to.end(), [](bool in) { return in; });
    if (all) channels = std::min(channels, cut.channels);
  }
  layer.channels = channels;
  layer.next_fractions.assign(static_cast<std::size_t>(channels), 1.0 / channels);
  // Several mappers of one worker publish one after the other; as separate senders they are only
  // freer.
  const std::int32_t most = shape.num_mappers > 0 ? shape.num_mappers : cluster.network.num_workers;
  std::int32_t least = 1;
  if (most > kMapperCountsTried) {
    layer.mapper_startup_s = 0;  // loosens the bound; without start-up more mappers are never worse
    least = most;
  }
  Seconds least_s = std::numeric_limits<double>::infinity();
  for (std::int32_t mappers = least; mappers <= most; ++mappers) {
    layer.num_senders = mappers;
    const absl::StatusOr<load::ScaledLayer> scaled = load::ScaleLayer(layer);
    if (!scaled.ok()) return 0;  // no cost to bound: an empty input or a free network
    least_s = std::min(least_s, load::FindCutBound(*scaled).time * scaled->time_unit_s);
  }
  return least_s;
}

/// Least time after which a worker can have mapped its own share x of the input, reduced the share
/// `keys` of the map output and received what it did not map itself of it, for the best x: the
/// least over x of max(x * mapped + reduced, (1 - x) * received).
Seconds GatheredBound(const JobShape& shape, const ClusterProfile& cluster, double rate,
                      double keys, double shuffled_bytes) {
  const Seconds mapped_s =
      static_cast<double>(shape.input_bytes) * kRounding * shape.map_seconds_per_byte.value / rate;
  const LayerShape& first = shape.layers[0];
  const Seconds reduced_s =
      keys * shuffled_bytes * first.reduce_seconds_per_byte.value / rate +
      LeastGrowthSeconds(first, keys * shuffled_bytes,
                         StepsMax(first.num_reducers, cluster.workers.size())) /
          rate;
  const Seconds received_s = keys * shuffled_bytes * cluster.network.seconds_per_byte;
  const double x = std::clamp((received_s - reduced_s) / (mapped_s + received_s), 0.0, 1.0);
  return std::max(x * mapped_s + reduced_s, (1 - x) * received_s);
}

/// What computing alone takes at least, and the numbers behind it.
struct ComputeBound {
  Seconds compute_s = 0;
  Seconds map_s = 0;
  Seconds later_s = 0;  // layers after the first reducers
  Seconds joined_s = 0;
  double shuffled_bytes = 0;
};

/// `combined`: layers are combined where they can be.
ComputeBound BoundCompute(const JobShape& shape, const ClusterProfile& cluster, bool combined) {
  const std::vector<double> rates = FastestFirst(cluster);
  const double input_bytes = static_cast<double>(shape.input_bytes) * kRounding;
  const std::size_t mappers = UsableWorkers(shape.num_mappers, rates.size());
  const Seconds uncut_s =
      shape.map_startup_s.value + static_cast<double>(LargestUncut(shape)) * kRounding *
                                      shape.map_seconds_per_byte.value / rates[0];
  // A step's overhead comes once at least, before its bytes or after.
  const Seconds map_s = (shape.input_bytes > 0 ? shape.map_overhead_s.value : 0) * kRounding +
                        std::max(shape.uncut.empty() ? 0 : uncut_s,
                                 MapBound(rates, mappers, shape.map_startup_s.value,
                                          input_bytes * shape.map_seconds_per_byte.value));
  // Each step's output and each pair's section is rounded to whole bytes.
  const double num_mappers = StepsMax(shape.num_mappers, rates.size());
  const double num_reducers =
      shape.layers.empty() ? 0 : StepsMax(shape.layers[0].num_reducers, rates.size());
  const double shuffled_bytes =
      std::max(0.0, MapOutputBytes(shape, input_bytes) - num_mappers * (1 + num_reducers));
  double bytes = shuffled_bytes;
  Seconds reduce_s = 0;
  Seconds later_s = 0;  // layers after the first reducers
  Seconds last_layer_s = 0;
  for (std::size_t p = 0; p < shape.layers.size(); ++p) {
    const LayerShape& layer = shape.layers[p];
    if (combined && layer.element.kind == ElementShape::Kind::kVector) {
      bytes = std::min(bytes, ElementBytes(shape, p, 0));
    }
    const auto used = static_cast<std::ptrdiff_t>(UsableWorkers(layer.num_reducers, rates.size()));
    const double rate_sum = std::accumulate(rates.begin(), rates.begin() + used, 0.0);
    const double steps_max = StepsMax(layer.num_reducers, rates.size());
    const Seconds growth_s = LeastGrowthSeconds(layer, bytes, steps_max) / rate_sum;
    Seconds layer_s =
        layer.startup_s.value + layer.reduce_seconds_per_byte.value * bytes / rate_sum + growth_s;
    if (p + 1 == shape.layers.size() && shape.store.write == FinalWrite::kParallel) {
      const Seconds written_s =
          ReduceAndWriteBound(rates, static_cast<std::size_t>(used), layer, steps_max, bytes,
                              shape.store.seconds_per_byte.value);
      // That one knows of no curve.
      layer_s = layer.reduce_growth.known() ? std::max(layer_s, written_s) : written_s;
    }
    reduce_s += layer_s;
    last_layer_s = layer_s;
    if (p > 0) later_s += layer_s;
    bytes = std::max(0.0, bytes * layer.output_ratio.value - steps_max);
  }
  // What is left of `bytes` is the output. One writer starts when all reducers have ended; limited
  // writers share the store from the first one's end on.
  const Seconds store_s = bytes * shape.store.seconds_per_byte.value;
  const Seconds joined_s = shape.store.write == FinalWrite::kOne ? store_s : 0;
  Seconds compute_s = map_s + reduce_s + joined_s;
  const std::int32_t channels = StoreChannels(shape.store, cluster.network);
  if (shape.store.write == FinalWrite::kParallel && channels > 0) {
    compute_s = std::max(compute_s, map_s + reduce_s - last_layer_s +
                                        shape.layers.back().startup_s.value + store_s / channels);
  }
  return {compute_s, map_s, later_s, joined_s, shuffled_bytes};
}

/// What ways into and out of racks force, whoever does what.
Seconds RacksBound(const JobShape& shape, const ClusterProfile& cluster,
                   const ComputeBound& compute) {
  const LayerShape& first = shape.layers[0];
  RackWork work = RackWorkOf(shape, cluster, compute.shuffled_bytes);
  work.map_s *= kRounding;
  // A rack may cut its part of the keys into as many steps as there are: only what is in proportion
  // to bytes is that part of all.
  if (first.reduce_growth.known()) {
    work.reduce_s = first.reduce_seconds_per_byte.value * compute.shuffled_bytes;
  }
  work.map_least_s = compute.map_s;
  work.after_s = first.startup_s.value + compute.later_s;
  Seconds bound_s = 0;
  for (const std::vector<Rack>& level : RackLevels(cluster.network)) {
    work.rates = RackRates(level, cluster);
    bound_s = std::max(bound_s, RackBound(level, work));
  }
  return bound_s;
}

}  // namespace

std::int32_t EffectiveChannels(const NetworkModel& network) {
  const auto n = static_cast<std::size_t>(network.num_workers);
  const double port_pairs = std::max(1.0, static_cast<double>(n) - 1);
  double slowest = port_pairs;
  for (const Cut& cut : network.cuts) {
    const auto from = static_cast<double>(std::count(cut.from.begin(), cut.from.end(), true));
    const auto to = static_cast<double>(std::count(cut.to.begin(), cut.to.end(), true));
    double same = 0;
    for (std::size_t w = 0; w < n; ++w) same += cut.from[w] && cut.to[w] ? 1 : 0;
    slowest = std::max(slowest, (from * to - same) / cut.channels);
  }
  const double pairs = static_cast<double>(n) * port_pairs;
  return std::max(1, static_cast<std::int32_t>(std::lround(pairs / slowest)));
}

Seconds JobLowerBound(const JobShape& shape, const ClusterProfile& cluster) {
  const ComputeBound compute = BoundCompute(shape, cluster, /*combined=*/false);
  const auto [compute_s, map_s, later_s, joined_s, shuffled_bytes] = compute;
  if (shape.layers.empty() || shuffled_bytes <= 0) return compute_s;
  const std::vector<double> rates = FastestFirst(cluster);
  const LayerShape& first = shape.layers[0];
  const auto reducers = static_cast<double>(UsableWorkers(first.num_reducers, rates.size()));
  Seconds network_s = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSharesTried; ++i) {
    const double share_low = 1 / reducers + (1 - 1 / reducers) * i / kSharesTried;
    const double share_high = 1 / reducers + (1 - 1 / reducers) * (i + 1) / kSharesTried;
    const Seconds concentrated_s =
        map_s + first.startup_s.value + later_s +
        first.reduce_seconds_per_byte.value * share_low * shuffled_bytes / rates[0] +
        LeastGrowthSeconds(first, share_low * shuffled_bytes,
                           StepsMax(first.num_reducers, rates.size())) /
            rates[0];
    const Seconds gathered_s = GatheredBound(shape, cluster, rates[0], share_low, shuffled_bytes) +
                               first.startup_s.value + later_s;
    // Its port also sends x (1 - d); no x makes both less than d (1 - d).
    const Seconds ports_s = cluster.network.seconds_per_byte * shuffled_bytes *
                            std::min(share_low * (1 - share_low), share_high * (1 - share_high));
    const Seconds moved_s = ShuffleBound(shape, cluster, rates[0], shuffled_bytes, 1 - share_high) +
                            first.startup_s.value + later_s;
    const Seconds at_worker_s = std::max(concentrated_s, gathered_s);
    network_s = std::min(
        network_s, std::max({at_worker_s, moved_s, ports_s + first.startup_s.value + later_s}));
    if (at_worker_s >= network_s) break;  // larger shares only concentrate more
  }
  network_s = std::max(network_s, RacksBound(shape, cluster, compute));
  return std::max(compute_s, network_s + joined_s);
}

Seconds CombinedLowerBound(const JobShape& shape, const ClusterProfile& cluster) {
  return BoundCompute(shape, cluster, /*combined=*/true).compute_s;
}

}  // namespace weir::planner
