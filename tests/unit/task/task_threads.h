#pragma once

// Threads and clock of a test, as runtime/app would bring them.

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/task/task_environment.h"

namespace weir::task {

/// Joins in its destructor whatever was started.
class TestEnvironment {
 public:
  /// `threads_max`: how many threads are to be had.
  explicit TestEnvironment(std::size_t threads_max = 1000) {
    environment_.start_thread = [this, threads_max](std::function<void()> body) {
      const std::lock_guard lock(mutex_);
      if (threads_.size() == threads_max) {
        throw std::system_error(EAGAIN, std::generic_category(), "no thread");
      }
      threads_.emplace_back(std::move(body));
    };
    environment_.now = [] {
      return MonoTime::FromNanos(std::chrono::steady_clock::now().time_since_epoch().count());
    };
  }
  ~TestEnvironment() {
    for (std::thread& thread : threads_) thread.join();
  }
  TestEnvironment(const TestEnvironment&) = delete;
  TestEnvironment& operator=(const TestEnvironment&) = delete;

  const TaskEnvironment& environment() const { return environment_; }

 private:
  TaskEnvironment environment_;
  std::mutex mutex_;
  std::vector<std::thread> threads_;  // guarded by mutex_
};

}  // namespace weir::task
