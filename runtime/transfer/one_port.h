#pragma once

// The one-port rule at one end of the data plane: of each job one exclusive transfer at a time.
// Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"

namespace weir::transfer {

/// Knows the transfers that use a port, and whether another of the same job may.
///
/// Jobs do not keep each other out: which of them moves when the master decides (PortArbiter), and
/// what a job that was cancelled still has on the line must not end another one. A plan that was
/// edited while it ran gives no port to two either: what a request of a later edit meets in the
/// middle, the edit has dropped, and it is superseded.
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
  /// `plan_edit`: how often the plan was edited when it was granted.
  Admission Ask(std::string_view job, bool concurrent, std::int32_t plan_edit = 0) const {
    Admission admission = Admission::kFree;
    for (const auto& [id, use] : uses_) {
      if (use.job != job || (concurrent && use.concurrent)) continue;
      if (InTheMiddle(use) && use.plan_edit >= plan_edit) return Admission::kBusy;
      admission = Admission::kNearlyDone;
    }
    return admission;
  }

  /// Those that an exclusive transfer of this edit supersedes: to be broken off.
  std::vector<Id> Superseded(std::string_view job, std::int32_t plan_edit) const {
    std::vector<Id> superseded;
    for (const auto& [id, use] : uses_) {
      const bool dropped = use.plan_edit < plan_edit && InTheMiddle(use);
      if (use.job == job && dropped && !use.concurrent) superseded.push_back(id);
    }
    return superseded;
  }

  /// `grant_ahead_bytes`: bytes left at which others may ask without being turned away.
  Id Begin(std::string job, std::int64_t bytes, std::int64_t grant_ahead_bytes, bool concurrent,
           std::int32_t plan_edit = 0) {
    uses_[++last_id_] = {std::move(job), bytes, grant_ahead_bytes, concurrent, plan_edit};
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
    std::int32_t plan_edit = 0;
  };
  static bool InTheMiddle(const Use& use) { return use.bytes_left > use.grant_ahead_bytes; }

  absl::btree_map<Id, Use> uses_;
  Id last_id_ = 0;
};

}  // namespace weir::transfer
