#pragma once

// Hears at once when a worker's process ends: a connection to it is held open, and breaks with it.
// Upstream: Master, by registrations and losses. Downstream: Master, which asks after the worker.

#include <memory>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "runtime/env/callback_scope.h"
#include "runtime/env/event_loop.h"
#include "runtime/master/workers/worker_leases.h"
#include "runtime/rpc/api.h"

namespace weir::master {

/// Holds a connection open to every worker that it follows, and says when one broke. That is a
/// reason to ask after the worker, not a proof (docs/adr/0032). A connection that broke, or could
/// not be made, is made anew after limits::kHoldAgain for as long as the worker is followed.
///
/// Thread-safety: control loop only. Bounds: one connection a worker, shared with its other calls.
/// Checked by: tests/unit/master/process_watch_test.cc.
class ProcessWatch {
 public:
  /// `on_break` comes limits::kProcessEndSettles after a connection broke that had been open, so
  /// that a process which ends has closed its listener, too.
  ProcessWatch(env::EventLoop& loop, rpc::WorkerConnector& connector,
               absl::AnyInvocable<void(WorkerId, Epoch)> on_break);

  /// From now on; instead of an earlier registration of that worker.
  void Follow(WorkerId worker, Epoch epoch, const std::string& control_endpoint);
  void Forget(WorkerId worker) { followed_.erase(worker); }

 private:
  struct Followed {
    Epoch epoch = 0;
    std::string control_endpoint;
    std::unique_ptr<rpc::Subscription> connection;
  };
  void Hold(WorkerId worker, Epoch epoch);
  void Ended(WorkerId worker, Epoch epoch, bool was_open);
  /// Null once that registration is followed no more.
  Followed* Find(WorkerId worker, Epoch epoch);

  env::EventLoop& loop_;
  rpc::WorkerConnector& connector_;
  absl::AnyInvocable<void(WorkerId, Epoch)> on_break_;
  absl::btree_map<WorkerId, Followed> followed_;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
