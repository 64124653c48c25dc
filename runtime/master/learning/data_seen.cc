#include "runtime/master/learning/data_seen.h"

#include <algorithm>

#include "runtime/master/learning/learned_shape.h"

namespace weir::master {
namespace {

constexpr double kSameSizeFactor = 1.5;

bool Near(double one, double other, double factor) {
  return std::max(one, other) <= factor * std::min(one, other);
}

}  // namespace

bool IsAlike(const v1::JobShapeLearned::DataSeen& one, const v1::JobShapeLearned::DataSeen& other) {
  if (!Near(one.records_per_byte(), other.records_per_byte(), kAlikeFactor)) return false;
  const bool same_size = Near(static_cast<double>(one.at_bytes()),
                              static_cast<double>(other.at_bytes()), kSameSizeFactor);
  return !same_size || Near(one.output_ratio(), other.output_ratio(), kAlikeFactor);
}

bool MakesAlike(const v1::JobShapeLearned& one, const v1::JobShapeLearned& other,
                double chunk_bytes, double input_bytes) {
  return Near(MapOutputBytes(one, chunk_bytes, input_bytes),
              MapOutputBytes(other, chunk_bytes, input_bytes), kAlikeFactor);
}

}  // namespace weir::master
