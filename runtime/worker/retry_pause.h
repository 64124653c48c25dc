#pragma once

// Pauses between tries of a call to the master: growing, so that a master that comes back is not
// run over, and jittered, so that its workers do not return in step.

#include <algorithm>

#include "absl/time/time.h"
#include "runtime/env/event_loop.h"

namespace weir::worker {

inline constexpr absl::Duration kRetryPauseMin = absl::Milliseconds(100);
inline constexpr absl::Duration kRetryPauseMax = absl::Seconds(2);

/// Returns the pause that follows `last`; zero means none so far.
inline absl::Duration NextRetryPause(absl::Duration last) {
  return std::clamp(last * 2, kRetryPauseMin, kRetryPauseMax);
}

/// Draws from [pause / 2, pause].
inline absl::Duration Jittered(absl::Duration pause, env::Random& random) {
  constexpr int kSteps = 1024;
  return pause / 2 + pause / 2 * static_cast<double>(random.Next() % kSteps) / kSteps;
}

}  // namespace weir::worker
