#pragma once

// The only place that makes threads.

#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/env/real/blocking_work_pool.h"

namespace weir::app {

/// Threads that end by themselves; joined at the latest by the destructor.
class Threads {
 public:
  Threads() = default;
  ~Threads() { Join(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void Start(std::function<void()> body) {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back(std::move(body));
  }
  void Join() {
    std::vector<std::thread> ending;
    {
      const std::lock_guard lock(mutex_);
      ending.swap(threads_);
    }
    for (std::thread& thread : ending) thread.join();
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

/// A work pool with its threads. The destructor finishes what was queued.
class PoolThreads {
 public:
  explicit PoolThreads(int num_threads) {
    try {
      for (int i = 0; i < num_threads; ++i) threads_.Start([this] { pool_.Serve(); });
    } catch (...) {
      // No more threads are to be had: those that there are must not wait for work.
      pool_.Close();
      throw;
    }
  }
  ~PoolThreads() { Finish(); }
  /// Ends what was queued; work that comes later is dropped.
  void Finish() {
    pool_.Close();
    threads_.Join();
  }
  env::WorkPool& pool() { return pool_; }

 private:
  env::BlockingWorkPool pool_;
  Threads threads_;
};

/// Makes so many threads at once and ends them. What starts threads of its own and cannot go on
/// without them is not begun where they are not to be had: gRPC's server aborts, and its calls wait
/// for an answer that nobody hears.
/// Errors: throws what std::thread does; RunProgram says it in a sentence. Checked by:
/// tests/integration/small_machine_test.py (FewThreads), cluster_test.py (-k without_threads).
void TryThreads(int num_threads);

}  // namespace weir::app
