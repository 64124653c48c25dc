#pragma once

// Threads and clock of a test, as runtime/app would bring them.

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/task/task_environment.h"

namespace weir::task {

/// Joins in its destructor whatever was started.
class TestEnvironment {
 public:
  TestEnvironment() {
    environment_.start_thread = [this](std::function<void()> body) {
      const std::lock_guard lock(mutex_);
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
