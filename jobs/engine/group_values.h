#pragma once

// What an author's Reduce reads. Upstream: MergedSections.

#include <string_view>

#include "jobs/api/value_codec.h"
#include "jobs/engine/sections/merged_sections.h"

namespace weir {

/// The values of one key, one after the other, in the order of the job's SortKey, else of the
/// input.
template <typename Value>
class GroupValues {
 public:
  explicit GroupValues(MergedSections& merged) : merged_(merged) {}

  /// Reads the next value; false after the last.
  bool Next(Value& value) {
    std::string_view bytes;
    if (damaged_ || !merged_.NextValue(bytes)) return false;
    damaged_ = !ValueCodec<Value>::Take(bytes, value);
    return !damaged_;
  }
  bool damaged() const { return damaged_; }

 private:
  MergedSections& merged_;
  bool damaged_ = false;
};

}  // namespace weir
