#pragma once

// Calls under way of one client or server, so that it can end them and wait before what they use
// goes away.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/container/btree_map.h"

namespace weir::rpc {

/// Thread-safe. `end` functions run under no lock, at most once, only from EndAll.
class OpenCalls {
 public:
  using Key = std::uint64_t;

  /// Enters a call; `*key` is written before `end` can run on another thread. False when EndAll was
  /// called, and the call must not begin.
  bool Enter(std::function<void()> end, Key* key) {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    *key = ++last_key_;
    calls_.emplace(*key, std::move(end));
    return true;
  }

  /// The call is over and touches nothing any more.
  void Leave(Key key) {
    const std::lock_guard lock(mutex_);
    calls_.erase(key);
    // Under the lock: whoever waits may destroy this as soon as it has the lock.
    if (calls_.empty()) empty_.notify_all();
  }

  /// Refuses further calls and asks those under way to end.
  void EndAll() {
    absl::btree_map<Key, std::function<void()>> ending;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      ending = calls_;
    }
    for (auto& [key, end] : ending) end();
  }

  /// Waits until every call has left. Blocking, but only for as long as gRPC needs to hand over
  /// what was cancelled.
  void WaitUntilEmpty() {
    std::unique_lock lock(mutex_);
    empty_.wait(lock, [this] { return calls_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  bool closed_ = false;                                // guarded by mutex_
  Key last_key_ = 0;                                   // guarded by mutex_
  absl::btree_map<Key, std::function<void()>> calls_;  // guarded by mutex_
};

}  // namespace weir::rpc
