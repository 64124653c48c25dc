#pragma once

// Moments of a test's own clock.

#include <cstdint>

#include "runtime/base/mono_time.h"

namespace weir {

/// `seconds` after the zero of monotonic time.
inline MonoTime Moment(double seconds) {
  return MonoTime::FromNanos(static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace weir
