#pragma once

// Whether a transfer that failed is tried again. Pure. Upstream: ConductorRun, which hears of
// failures. Downstream: nothing.

#include <cstdint>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "runtime/base/mono_time.h"

namespace weir::master {

/// A transfer that breaks off in the middle has all of its time anew, but only so often: each
/// attempt begins at its first byte.
inline constexpr int kBrokenOffTriesMax = 10;

/// Knows since when transfers have been failing.
///
/// One whose ends do not reach each other is tried again for limits::kPeerPatience, one that is
/// refused for limits::kRefusedPatience: from its first failure since bytes of it moved. After
/// kBrokenOffTriesMax attempts that moved some, what moves counts no more: one that always breaks
/// off would never end. One that arrives damaged is made limits::kDamagedTriesMax times.
/// Transfers go by their numbers (TransferNumbers). Thread-safety: none. Time: passed in as `now`,
/// which does not go backwards. Checked by: tests/unit/master/transfer_patience_test.cc.
class TransferPatience {
 public:
  struct Failure {
    std::string_view code;   // of the error, as in job_errors.h
    int attempt = 1;         // which one failed, counted from 1
    std::int64_t moved = 0;  // bytes of that attempt that arrived and were verified
  };

  /// Takes a failure; false: it is final.
  bool TryAgain(std::int32_t transfer, const Failure& failure, MonoTime now);
  void Arrived(std::int32_t transfer) { failing_.erase(transfer); }
  /// For `stood` before `now` the master itself stood still: nobody was asked again meanwhile, so
  /// that time does not count.
  void StoodStill(absl::Duration stood, MonoTime now);

 private:
  struct Failing {
    MonoTime since;      // first failure after bytes moved last
    int broken_off = 0;  // attempts that moved some
  };
  absl::btree_map<std::int32_t, Failing> failing_;
};

}  // namespace weir::master
