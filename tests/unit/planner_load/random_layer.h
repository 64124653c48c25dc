#pragma once

// Random layers in every regime of the model, for properties and comparisons. Deterministic by
// seed.

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "planner/load/layer.h"

namespace weir::planner::load {

class RandomLayers {
 public:
  explicit RandomLayers(std::uint64_t seed) : engine_(seed) {}

  double Uniform(double low, double high) { return low + (high - low) * Unit(); }
  double LogUniform(double low, double high) {
    return std::exp(Uniform(std::log(low), std::log(high)));
  }
  std::int32_t Whole(std::int32_t low, std::int32_t high) {
    return std::min(high, low + static_cast<std::int32_t>(Unit() * (high - low + 1)));
  }

  /// Equal, mild (0.8 to 1.2), strong (two decades) or one dominant.
  std::vector<double> Fractions(std::int32_t r) {
    std::vector<double> fractions(static_cast<std::size_t>(r), 1);
    const std::int32_t kind = Whole(0, 3);
    for (double& fraction : fractions) {
      if (kind == 1) fraction = Uniform(0.8, 1.2);
      if (kind == 2) fraction = std::pow(10, Uniform(-2, 0));
    }
    if (kind == 3) fractions[0] = Uniform(1, 3) * std::max(1.0, r / 2.0);
    double sum = 0;
    for (const double fraction : fractions) sum += fraction;
    for (double& fraction : fractions) fraction /= sum;
    return fractions;
  }

  /// Start-up zero, tiny, comparable or forcing; channels from a thousand times faster than the
  /// work to as much slower.
  Layer Next(std::int32_t n_max, std::int32_t r_max) {
    Layer layer;
    layer.kind = Whole(0, 1) == 0 ? LayerKind::kMapper : LayerKind::kReducer;
    layer.num_senders = Whole(1, n_max);
    const std::int32_t r = Whole(1, r_max);
    layer.channels = Whole(1, std::max(layer.num_senders, r) + 1);
    layer.load_bytes = LogUniform(10, 1e16);
    layer.output_ratio = LogUniform(1e-3, 3);
    const double rate = LogUniform(1e-10, 1e-5);
    const double work_per_byte =
        layer.kind == LayerKind::kMapper ? rate : rate * std::max(1.0, std::log2(layer.load_bytes));
    layer.channel_seconds_per_byte = LogUniform(1e-3, 1e3) * work_per_byte / layer.output_ratio;
    layer.next_fractions = Fractions(r);
    const double work_s = work_per_byte * layer.load_bytes / layer.num_senders;
    const double startups[] = {0, 1e-5 * work_s, Uniform(0.05, 0.9) * work_s,
                               Uniform(0.9, 3) * work_s};
    const double startup_s = startups[Whole(0, 3)];
    if (layer.kind == LayerKind::kMapper) {
      layer.mapper_startup_s = startup_s / layer.num_senders;
      layer.compute = ComputeFunction::Linear(rate, 0);
    } else {
      const std::int32_t kind = Whole(0, 3);
      layer.compute = kind == 0   ? ComputeFunction::Linear(rate, startup_s)
                      : kind == 1 ? ComputeFunction::NLogN(rate, startup_s)
                                  : ComputeFunction::Chords(rate, startup_s, layer.load_bytes);
    }
    return layer;
  }

 private:
  double Unit() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }

  std::mt19937_64 engine_;
};

}  // namespace weir::planner::load
