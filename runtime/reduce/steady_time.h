#pragma once

// The clock of the calling process: the library runs where it is called, and nobody passes it time.

#include <chrono>

namespace weir::reduce {

/// Seconds on a clock that never goes backwards.
inline double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace weir::reduce
