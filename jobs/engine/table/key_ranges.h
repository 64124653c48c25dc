#pragma once

// Which consumer a key belongs to. Upstream: MapOrder / ReduceOrder. Downstream: sections of a run.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "jobs/engine/table/packed_key.h"

namespace weir {

/// The consumers' shares of the key positions (packed_key.h).
class KeyRanges {
 public:
  /// Requires: upper ends that rise to 1.
  explicit KeyRanges(absl::Span<const double> consumer_key_end) {
    for (const double end : consumer_key_end) {
      end_.push_back(static_cast<std::uint64_t>(end * static_cast<double>(kKeyPositions)));
    }
  }

  int ConsumerOf(std::uint64_t position) const {
    const auto consumer = std::upper_bound(end_.begin(), end_.end() - 1, position);
    return static_cast<int>(consumer - end_.begin());
  }

  /// Turns a place in [0, 1) that a job's Partition returned into a position; what lies outside
  /// goes to the nearest end.
  static std::uint64_t PositionOf(double place) {
    if (!(place > 0)) return 0;
    if (place >= 1) return kKeyPositions - 1;
    return static_cast<std::uint64_t>(place * static_cast<double>(kKeyPositions));
  }

 private:
  std::vector<std::uint64_t> end_;
};

}  // namespace weir
