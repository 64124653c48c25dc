#pragma once

// Where a table has a key that came before. Upstream: readers and jobs that know a key again
// without building it. Downstream: emit of jobs with Combine.

#include <cstdint>
#include <limits>

namespace weir {

/// What `emit(key, value, place)` leaves behind for the next value of the same key, which is then
/// neither hashed nor looked for. Nothing but time depends on it: a place that has become old is
/// found anew (docs/adr/0064-a-key-may-bring-its-place.md).
///
/// Requires: a place is given with one key only, one for another key is a new KeyPlace; and to the
/// emit of one map step only.
/// Thread-safety: as the emit. Checked by: tests/unit/jobs/recent_entries_test.cc.
struct KeyPlace {
  // For the engine: the value of a key, and what a table was like when it lay there.
  static constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();
  void* value = nullptr;
  std::uint64_t state = kNowhere;
};

}  // namespace weir
