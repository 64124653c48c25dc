#include "runtime/master/learning/data_seen.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
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

// Text of one kind differs by more than chance alone: it is about other things elsewhere.
constexpr double kCountsApart = 0.1;
// Standard deviations of counts of independent draws.
constexpr double kChance = 3;

bool CountsAlike(std::int64_t one, std::int64_t one_bytes, std::int64_t other,
                 std::int64_t other_bytes) {
  const double scale = static_cast<double>(one_bytes) / static_cast<double>(other_bytes);
  const auto count = static_cast<double>(one);
  const double expected = static_cast<double>(other) * scale;
  return std::abs(count - expected) <=
         kCountsApart * std::max(count, expected) + kChance * std::sqrt(count + expected * scale);
}

}  // namespace

bool LooksAlike(const v1::JobShapeLearned::InputLook& one,
                const v1::JobShapeLearned::InputLook& other) {
  if (one.bytes() <= 0 || other.bytes() <= 0) return true;
  const bool same_size =
      Near(static_cast<double>(one.bytes()), static_cast<double>(other.bytes()), kSameSizeFactor);
  return CountsAlike(one.lines(), one.bytes(), other.lines(), other.bytes()) &&
         CountsAlike(one.words(), one.bytes(), other.words(), other.bytes()) &&
         (!same_size ||
          CountsAlike(one.new_words(), one.bytes(), other.new_words(), other.bytes()));
}

bool IsSameKindOfData(const v1::JobShapeLearned& one, const v1::JobShapeLearned& other) {
  const bool same_files = one.input_fingerprint() == other.input_fingerprint();
  if (same_files && one.input_fingerprint() != 0) return true;
  if (!one.has_look() || !other.has_look()) {
    return same_files && one.has_look() == other.has_look();
  }
  // Text of two kinds may look alike though samples of it do not.
  return LooksAlike(one.look(), other.look()) &&
         (!one.has_seen() || !other.has_seen() || IsAlike(one.seen(), other.seen()));
}

DataNearness NearnessOf(const v1::JobShapeLearned& known, const InputSeen& input) {
  if (input.fingerprint != 0 && known.input_fingerprint() == input.fingerprint) {
    return DataNearness::kSameFiles;
  }
  const bool both_looked_at = input.look != nullptr && known.has_look();
  return both_looked_at && LooksAlike(known.look(), *input.look) ? DataNearness::kLooksAlike
                                                                 : DataNearness::kNotTold;
}

bool CountsUnsampled(const v1::JobShapeLearned& known, const v1::JobShapeLearned::InputLook* look,
                     double job_seconds_per_byte) {
  if (look == nullptr || !known.has_look() || LooksAlike(known.look(), *look)) return true;
  return known.map_seconds_per_byte() > kRatesTell * job_seconds_per_byte;
}

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

std::optional<v1::JobShapeLearned> FirstOfDataAlike(absl::Span<const v1::JobShapeLearned> known,
                                                    const v1::JobShapeLearned& sample,
                                                    double chunk_bytes, double input_bytes) {
  for (const v1::JobShapeLearned& one : known) {
    std::optional<v1::JobShapeLearned> here =
        KnownOfDataAlike(one, sample, chunk_bytes, input_bytes);
    if (here) return here;
  }
  return std::nullopt;
}

}  // namespace weir::master
