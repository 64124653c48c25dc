#pragma once

// Keeps one receive at a time, in the order of the grants. Pure. Upstream: WorkerJob (grants).
// Downstream: its answers say which fetch to start.

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "weir/v1/services.pb.h"

namespace weir::worker {

/// Orders the grants of one job on one worker. (Those of several jobs the master keeps in order.)
///
/// A grant starts when none runs, or when the only one that runs is nearly done (so that the next
/// begins the moment the line is free), or when the plan was edited since: what is in the middle
/// then was dropped, and is broken off where the next one begins. Concurrent grants (plan mode
/// "fetch from all") start at once and hold nothing up. Bounds: kWaitingMax grants. Checked by:
/// tests/unit/worker/transfer_queue_test.cc.
class TransferQueue {
 public:
  static constexpr std::size_t kWaitingMax = 4096;

  /// Errors: kResourceExhausted when too many wait.
  absl::Status Add(v1::GrantTransferRequest grant);
  /// Returns the grants to start now, in order; they count as running from here on.
  std::vector<v1::GrantTransferRequest> TakeReady();
  void OnNearlyDone(int transfer) { nearly_done_.insert(transfer); }
  void OnDone(int transfer);
  /// Forgets a grant that waits; false where this attempt is not among them.
  bool Remove(int transfer, int attempt);
  void ClearWaiting() { waiting_.clear(); }

 private:
  bool LineFreeFor(int plan_edit) const;

  std::deque<v1::GrantTransferRequest> waiting_;
  std::map<int, int> running_;  // without concurrent ones: transfer, edit of the plan
  std::set<int> nearly_done_;
};

}  // namespace weir::worker
