#pragma once

// When a command asks a master again that does not answer, and when it gives up. Pure.
// Upstream: outcomes of calls. Downstream: FollowJob, AskAgain.

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/base/mono_time.h"
#include "runtime/client/flags/options.h"
#include "runtime/env/event_loop.h"

namespace weir::client {

/// Follows one master through its absences.
///
/// A master that has answered once, or has taken a connection and broken it off, is waited for as
/// long as MasterGrace says, with growing, jittered pauses. One that nobody ever reached is likely
/// not there at all (a wrong address), and waited for no longer than `first_patience`, unless its
/// user named a grace. Thread-safety: none. Time: passed in. Checked by:
/// tests/unit/client/master_absence_test.cc.
class MasterAbsence {
 public:
  /// `reached`: it has answered before.
  MasterAbsence(const MasterGrace& grace, bool reached, absl::Duration first_patience,
                env::Random& random)
      : grace_(grace), first_patience_(first_patience), random_(random), reached_(reached) {}

  /// What an answer means that never came: whether it may come another time.
  static bool IsAway(const absl::Status& outcome);

  struct Pause {
    absl::Duration length;
    /// What is left of the patience, to be told: set once in each absence, when the second try
    /// failed, so that nobody hears of a hiccup.
    std::optional<absl::Duration> news;
  };
  /// A try failed. Returns how long to wait before the next one; none: give up.
  std::optional<Pause> OnFailure(const absl::Status& outcome, MonoTime now);
  /// An answer came. Returns whether people had been told that the master is away.
  bool OnAnswer();

  bool away() const { return since_.has_value(); }

 private:
  const MasterGrace grace_;
  const absl::Duration first_patience_;
  env::Random& random_;
  bool reached_;
  std::optional<MonoTime> since_;
  absl::Duration pause_;
  bool told_ = false;
};

}  // namespace weir::client
