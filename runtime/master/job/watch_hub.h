#pragma once

// Tells watchers of a job's changes. Upstream: JobRegistry. Downstream: rpc handlers, one a
// watcher.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"

namespace weir::master {

/// Fans statuses out. Each watcher has a queue of its own; when it is full, the newest status takes
/// the place of the one queued last, so that a slow watcher misses steps in between, never the end.
/// Only the first and the last status of a watcher hold the list of the job's inputs, which does
/// not change: a hundred thousand paths, twice a second, would be all that master and network do.
/// Thread-safety: on the loop only. Callbacks come in later turns, never from inside a call.
/// Bounds: kWatchersMax watchers, kQueuedMax statuses a watcher.
/// Checked by: tests/unit/master/watch_hub_test.cc.
class WatchHub {
 public:
  static constexpr int kWatchersMax = 2000;
  static constexpr std::size_t kQueuedMax = 16;

  explicit WatchHub(env::EventLoop& loop) : loop_(loop) {}

  /// Sends `now` first, then what Publish brings; ends after a terminal status.
  std::unique_ptr<rpc::Subscription> Watch(const v1::JobStatus& now,
                                           absl::AnyInvocable<void(v1::JobStatus)> on_status,
                                           absl::AnyInvocable<void(absl::Status)> on_end);
  /// A watcher that only hears why there is nothing to watch.
  std::unique_ptr<rpc::Subscription> Refuse(absl::Status why,
                                            absl::AnyInvocable<void(absl::Status)> on_end);
  void Publish(const v1::JobStatus& status);
  /// Ends every stream: the master is going away.
  void EndAll(const absl::Status& why);

 private:
  struct Watcher;
  class Handle;
  void Queue(const std::shared_ptr<Watcher>& watcher, const v1::JobStatus& status);
  void Deliver(const std::shared_ptr<Watcher>& watcher);
  void ForgetGone();

  env::EventLoop& loop_;
  absl::btree_map<std::string, std::vector<std::shared_ptr<Watcher>>> watchers_;  // by job
  int num_watchers_ = 0;
};

}  // namespace weir::master
