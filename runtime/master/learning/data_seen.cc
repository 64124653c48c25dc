#include "runtime/master/learning/data_seen.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/master/learning/learned_shape.h"

namespace weir::master {
namespace {

constexpr double kSameSizeFactor = 1.5;
// A thousand draws of the same law differ by some 0.05.
constexpr double kAlikeElsewhere = 0.15;

bool Near(double one, double other, double factor) {
  return std::max(one, other) <= factor * std::min(one, other);
}

// The part of the bytes whose keys lie in another part of the unit interval; 0: not known.
double KeysElsewhere(const v1::JobShapeLearned::DataSeen& one,
                     const v1::JobShapeLearned::DataSeen& other) {
  if (one.key_share_size() != other.key_share_size()) return 0;
  double apart = 0;
  for (int i = 0; i < one.key_share_size(); ++i)
    apart += std::abs(one.key_share(i) - other.key_share(i));
  return apart / 2;
}

}  // namespace

bool IsAlike(const v1::JobShapeLearned::DataSeen& one, const v1::JobShapeLearned::DataSeen& other) {
  if (!Near(one.records_per_byte(), other.records_per_byte(), kAlikeFactor)) return false;
  const bool same_size = Near(static_cast<double>(one.at_bytes()),
                              static_cast<double>(other.at_bytes()), kSameSizeFactor);
  if (same_size && !Near(one.output_ratio(), other.output_ratio(), kAlikeFactor)) return false;
  return KeysElsewhere(one, other) <= kAlikeElsewhere;
}

bool MakesAlike(const v1::JobShapeLearned& one, const v1::JobShapeLearned& other,
                double chunk_bytes, double input_bytes) {
  return Near(MapOutputBytes(one, chunk_bytes, input_bytes),
              MapOutputBytes(other, chunk_bytes, input_bytes), kAlikeFactor);
}

std::optional<v1::JobShapeLearned> KnownOfDataAlike(const v1::JobShapeLearned& known,
                                                    const v1::JobShapeLearned& sample,
                                                    double chunk_bytes, double input_bytes) {
  const bool alike =
      known.has_seen() && sample.has_seen() && IsAlike(sample.seen(), known.seen()) &&
      (!sample.has_map_output_ratio() || MakesAlike(sample, known, chunk_bytes, input_bytes));
  if (!alike) return std::nullopt;
  v1::JobShapeLearned here = known;
  *here.mutable_input_weights() = sample.input_weights();
  return here;
}

}  // namespace weir::master
