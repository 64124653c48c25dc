#pragma once

// The one-port rule at one end of the data plane: of each job one exclusive transfer at a time.
// Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"

namespace weir::transfer {

/// Knows the transfers that use a port, and whether another of the same job may.
///
/// Jobs do not keep each other out: which of them moves when the master decides (PortArbiter), and
/// what a job that was cancelled still has on the line must not end another one.
/// Thread-safety: one strand. Checked by: tests/unit/transfer/one_port_test.cc.
class OnePort {
 public:
  using Id = std::int64_t;

  enum class Admission {
    kFree,        // begin now
    kNearlyDone,  // what runs is beyond its mark: the next one was granted in time
    kBusy,        // begin would break the rule
  };

  /// Says whether a transfer may begin. Concurrent ones share the port among themselves.
  Admission Ask(std::string_view job, bool concurrent) const {
    Admission admission = Admission::kFree;
    for (const auto& [id, use] : uses_) {
      if (use.job != job || (concurrent && use.concurrent)) continue;
      if (use.bytes_left > use.grant_ahead_bytes) return Admission::kBusy;
      admission = Admission::kNearlyDone;
    }
    return admission;
  }

  /// `grant_ahead_bytes`: bytes left at which others may ask without being turned away.
  Id Begin(std::string job, std::int64_t bytes, std::int64_t grant_ahead_bytes, bool concurrent) {
    uses_[++last_id_] = {std::move(job), bytes, grant_ahead_bytes, concurrent};
    return last_id_;
  }
  /// Returns the bytes left.
  std::int64_t Move(Id id, std::int64_t bytes) { return uses_[id].bytes_left -= bytes; }
  void End(Id id) { uses_.erase(id); }

 private:
  struct Use {
    std::string job;
    std::int64_t bytes_left = 0;
    std::int64_t grant_ahead_bytes = 0;
    bool concurrent = false;
  };
  absl::btree_map<Id, Use> uses_;
  Id last_id_ = 0;
};

}  // namespace weir::transfer
