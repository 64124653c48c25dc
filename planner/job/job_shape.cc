#include "planner/job/job_shape.h"

#include <cmath>

namespace weir::planner {
namespace {

bool IsVector(const ElementShape& element) { return element.kind == ElementShape::Kind::kVector; }

double VectorBytes(const ElementShape& element) {
  return static_cast<double>(element.places) * static_cast<double>(element.place_bytes) *
         element.packed_ratio;
}

}  // namespace

Seconds ReduceSeconds(const LayerShape& layer, double bytes) {
  const Seconds linear_s = bytes * layer.reduce_seconds_per_byte.value;
  return layer.reduce_growth.known() ? linear_s + layer.reduce_growth.SecondsOf(bytes) : linear_s;
}

Seconds LeastGrowthSeconds(const LayerShape& layer, double bytes, double steps) {
  return steps * layer.reduce_growth.SecondsOf(bytes / steps);
}

bool MakesVectors(const JobShape& shape) {
  return !shape.layers.empty() && IsVector(shape.layers[0].element);
}

double MapOutputBytes(const JobShape& shape, double chunk_bytes) {
  if (chunk_bytes > 0 && MakesVectors(shape)) return VectorBytes(shape.layers[0].element);
  const double linear = shape.map_output_ratio.value * chunk_bytes;
  if (shape.map_output_at_bytes <= 0 || chunk_bytes <= 0) return linear;
  return linear * std::pow(chunk_bytes / static_cast<double>(shape.map_output_at_bytes),
                           shape.map_output_growth.value - 1);
}

double MapOutputRatio(const JobShape& shape, double chunk_bytes) {
  return chunk_bytes > 0 ? MapOutputBytes(shape, chunk_bytes) / chunk_bytes
                         : shape.map_output_ratio.value;
}

double PartOutputBytes(const JobShape& shape, double bytes) {
  const std::vector<OutputPoint>& points = shape.map_output_points;
  if (bytes <= 0) return 0;
  if (points.size() < 2) {
    const double stored = shape.layers.empty() ? 1 : shape.layers[0].stored_ratio;
    return MapOutputBytes(shape, bytes) / stored;
  }
  std::size_t above = 1;
  while (above + 1 < points.size() && points[above].input_bytes < bytes) ++above;
  const OutputPoint& low = points[above - 1];
  const OutputPoint& high = points[above];
  const double power =
      std::log(high.output_bytes / low.output_bytes) / std::log(high.input_bytes / low.input_bytes);
  return low.output_bytes * std::pow(bytes / low.input_bytes, power);
}

PartCost MapPartCost(const JobShape& shape, double chunk_bytes) {
  if (MakesVectors(shape)) return {.output_growth = 0};
  if (shape.map_output_at_bytes <= 0 || shape.map_output_growth.value == 1) return {};
  const double ratio = MapOutputRatio(shape, chunk_bytes);
  return {.output_growth = shape.map_output_growth.value,
          .output_time = ratio / (ratio + kReadPerOutput)};
}

double ElementBytes(const JobShape& shape, std::size_t layer, double part) {
  const ElementShape& element = shape.layers[layer].element;
  if (IsVector(element)) return VectorBytes(element);
  return layer == 0 ? MapOutputBytes(shape, part) : part;
}

const char* OriginName(Origin origin) {
  switch (origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kFlag:
      return "flag";
    case Origin::kHistory:
      return "history";
    case Origin::kSampled:
      return "sampled";
    case Origin::kMeasured:
      return "measured";
  }
  return "unknown";
}

}  // namespace weir::planner
