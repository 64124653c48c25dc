#pragma once

// Time as the library has it: the clock of the calling process, since nobody passes it one, and how
// long a call waits by that.

#include <algorithm>
#include <chrono>

namespace weir::reduce {

/// Seconds on a clock that never goes backwards.
inline double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Nothing has moved for so long: the others may have made another call.
inline constexpr double kInquireSeconds = 0.1;

/// A call in which nothing has moved for a while. Pure.
/// Checked by: tests/unit/reduce/silence_test.cc.
struct Silence {
  double silent_s = 0;    // since something moved
  double timeout_s = 0;   // after which the call fails
  bool inquired = false;  // the others were asked, since then, which call they have made
  bool combines = false;  // a step is under way here, and may take as long as it likes

  bool Inquires() const { return silent_s >= kInquireSeconds && !inquired; }
  bool IsLate() const { return silent_s >= timeout_s && !combines; }
  /// Until it should look again though nothing moves: to inquire, or whether it is late. A
  /// millisecond at least, and a second at most. Requires: what Inquires() asks for was done.
  double WaitSeconds() const {
    return inquired || combines ? std::clamp(timeout_s - silent_s, 0.001, 1.0)
                                : std::max(kInquireSeconds - silent_s, 0.001);
  }
};

}  // namespace weir::reduce
