#pragma once

// Whether a worker of a plan that was lost and is back is given work of it at once. Pure. Upstream:
// JobRun. Downstream: nothing.

#include <string>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "runtime/base/mono_time.h"

namespace weir::master {

/// So often a worker is lost and taken back at once: a machine that is rebooted, a daemon that is
/// upgraded. One that is lost more often ends each time it starts, as of a service manager.
inline constexpr int kReturnsAtOnce = 2;
/// Pause after the next loss, which doubles with each one behind it: each return, and each loss,
/// has the plan edited, while which nothing new begins.
inline constexpr absl::Duration kReturnPause = absl::Seconds(10);
/// The longest: what is gained by a worker that stays at last is then a small part of such a wait.
inline constexpr absl::Duration kReturnPauseMax = absl::Seconds(160);
/// Losses of a worker are forgotten once it was not lost again for so long.
inline constexpr absl::Duration kReturnForgotten = absl::Minutes(10);

/// Knows how often a job has lost each worker of late, by name.
///
/// Thread-safety: none; control loop only. Time: passed in as `now`, must not go backwards.
/// Bounds: workers that were lost within kReturnForgotten.
/// Checked by: tests/unit/master/return_pauses_test.cc.
class ReturnPauses {
 public:
  /// It was lost while a plan of the job ran that names it.
  void Lost(const std::string& worker, MonoTime now);
  /// How long it is to be left alone from now on though it is there; zero: it is taken back.
  absl::Duration Left(const std::string& worker, MonoTime now) const;

 private:
  struct Losses {
    int number = 0;
    MonoTime last;
  };
  absl::btree_map<std::string, Losses> losses_;
};

}  // namespace weir::master
