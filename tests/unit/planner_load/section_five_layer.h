#pragma once

// The layers that planner_load_bench measures, for it and for the tests of what does not depend on
// a clock.

#include <cstdint>
#include <random>

#include "planner/load/layer.h"

namespace weir::planner::load {

/// The layer of 004, section 5.1: V = 1E15, g = 0.1, rates from U[1E-10, 1E-5], l = n / 2;
/// receivers equal or mild.
inline Layer SectionFiveLayer(LayerKind kind, std::int32_t n, bool equal) {
  std::mt19937_64 engine(static_cast<std::uint64_t>(n));
  std::uniform_real_distribution<double> rate(1e-10, 1e-5), mild(0.7, 1.3);
  Layer layer;
  layer.kind = kind;
  layer.num_senders = n;
  // Equal receivers take the closed form; unequal ones with a channel each have up to n cuts that
  // bind.
  layer.channels = equal ? (n + 1) / 2 : n;
  layer.output_ratio = 0.1;
  layer.load_bytes = kind == LayerKind::kMapper ? 1e15 : 1e14;
  layer.channel_seconds_per_byte = rate(engine);
  const double work = rate(engine);
  layer.mapper_startup_s = 0.02 * work * layer.load_bytes / n / n;
  layer.compute = kind == LayerKind::kMapper
                      ? ComputeFunction::Linear(work, 0)
                      : ComputeFunction::Chords(work, rate(engine), layer.load_bytes);
  double sum = 0;
  for (std::int32_t k = 0; k < n; ++k) {
    layer.next_fractions.push_back(equal ? 1.0 : mild(engine));
    sum += layer.next_fractions.back();
  }
  for (double& fraction : layer.next_fractions) fraction /= sum;
  return layer;
}

}  // namespace weir::planner::load
