#pragma once

// How counters of jobs add up. Upstream: the engine, scripts, tasks.

#include <cstdint>
#include <limits>

namespace weir {

/// Adds `value` to `counter`, which stays at the most or the least that it holds: one that wrapped
/// around would say something else, and nobody would see it.
/// Bounds: a branch that is never taken, for who counts per record.
/// Checked by: tests/unit/jobs/counter_sum_test.cc.
inline void AddToCounter(std::int64_t& counter, std::int64_t value) {
  if (__builtin_add_overflow(counter, value, &counter)) [[unlikely]] {
    counter = value > 0 ? std::numeric_limits<std::int64_t>::max()
                        : std::numeric_limits<std::int64_t>::min();
  }
}

}  // namespace weir
