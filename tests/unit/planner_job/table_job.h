#pragma once

// A job whose mappers make tables of a value for each key, for tests of plans along trees.

#include <cstdint>

#include "planner/job/job_shape.h"

namespace weir::planner {

/// 1 GB at 10 ns/B to map, 0.4 bytes a byte of a chunk of `measured_at`, by the law of `growth`;
/// one layer without a number of reducers.
inline JobShape TableJobOf(double growth, Bytes measured_at) {
  JobShape shape;
  shape.job = "words";
  shape.input_bytes = 1'000'000'000;
  shape.map_seconds_per_byte.value = 10e-9;
  shape.map_output_ratio.value = 0.4;
  shape.map_output_growth.value = growth;
  shape.map_output_at_bytes = measured_at;
  LayerShape layer;
  layer.element.kind = ElementShape::Kind::kTable;
  layer.element.places = std::int64_t{1} << 30;
  layer.element.commutative = true;
  layer.element.combine_seconds_per_byte.value = 1e-9;
  shape.layers = {layer};
  return shape;
}

}  // namespace weir::planner
