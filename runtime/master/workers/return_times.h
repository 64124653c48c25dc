#pragma once

// How soon workers whose processes were killed come back, and whether that is worth waiting for.
// Pure. Upstream: Master (losses and registrations). Downstream: JobRun.

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "runtime/base/mono_time.h"

namespace weir::master {

/// How long an edit waits for a worker that may be back with its runs. Plain data.
struct ReturnWait {
  absl::Duration wait;      // zero: it does not
  absl::Duration expected;  // what that costs, in the mean of what was seen
  absl::Duration without;   // what it costs not to wait
  /// For people.
  std::string Words(const std::string& worker) const;
};

/// Remembers the last losses of this master, and how long each worker was away.
///
/// Model: the wait of w seconds costs a worker's time away where it is back within w, else w and
///   what making its runs again takes. Of all w that one of the losses suggests, and of 0, the one
///   with the least mean over the losses. Those of kPriorAway are always among them, for a master
///   that has seen few: a service manager has a daemon back at once, a slow one in a second, and
///   one in four stays away.
/// Thread-safety: none; on the loop only. Time is passed in and does not go back. O(kRemembered^2).
/// Source: a wait without knowledge, until renting costs as much as buying, costs at most twice the
///   best (A. Karlin et al., "Competitive snoopy caching", Algorithmica 3, 1988); with a
///   distribution the least expected cost is the best that can be done.
/// Checked by: tests/unit/master/return_times_test.cc.
class ReturnTimes {
 public:
  static constexpr std::size_t kRemembered = 16;
  static constexpr std::array<absl::Duration, 4> kPriorAway = {
      absl::Milliseconds(200), absl::Milliseconds(200), absl::Seconds(1), absl::InfiniteDuration()};

  /// The process of the worker ended, its machine answers.
  void Lost(const std::string& worker, MonoTime now);
  /// A worker of this name has registered.
  void Back(const std::string& worker, MonoTime now);
  /// Returns how long to wait for one that was lost now, where making its runs again takes `redo`.
  ReturnWait WorthWaiting(absl::Duration redo, MonoTime now) const;

 private:
  struct Loss {
    std::string worker;
    MonoTime at;
    std::optional<absl::Duration> away;  // none: not back yet
  };

  std::deque<Loss> losses_;  // the last ones, oldest first
};

}  // namespace weir::master
