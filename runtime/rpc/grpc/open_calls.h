#pragma once

// Calls under way of one client or server, so that it can end them and wait before what they use
// goes away.

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/synchronization/mutex.h"

namespace weir::rpc {

/// Thread-safe. `end` functions run under no lock, at most once, only from EndAll.
class OpenCalls {
 public:
  using Key = std::uint64_t;

  /// Enters a call; 0 when EndAll was called, and the call must not begin.
  Key Enter(std::function<void()> end) {
    absl::MutexLock lock(&mutex_);
    if (closed_) return 0;
    calls_.emplace(++last_key_, std::move(end));
    return last_key_;
  }

  /// The call is over and touches nothing any more.
  void Leave(Key key) {
    absl::MutexLock lock(&mutex_);
    calls_.erase(key);
  }

  /// Refuses further calls and asks those under way to end.
  void EndAll() {
    absl::btree_map<Key, std::function<void()>> ending;
    {
      absl::MutexLock lock(&mutex_);
      closed_ = true;
      ending = calls_;
    }
    for (auto& [key, end] : ending) end();
  }

  /// Waits until every call has left. Blocking, but only for as long as gRPC needs to hand over
  /// what was cancelled.
  void WaitUntilEmpty() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &OpenCalls::Empty));
  }

 private:
  bool Empty() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return calls_.empty(); }

  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  Key last_key_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::btree_map<Key, std::function<void()>> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir::rpc
