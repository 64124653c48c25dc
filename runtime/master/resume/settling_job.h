#pragma once

// Which job of before a master looks at until it serves. Upstream: SettleHistory, on a pool.
// Downstream: Master, which says so while it starts.

#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace weir::master {

/// What is under way is set by one thread and read by others: the file system of an output may not
/// answer, and its user has to be told which.
/// Thread-safety: safe.
class SettlingJob {
 public:
  struct Place {
    std::string job_id;
    std::string output;
  };

  void Begin(Place place) {
    const std::lock_guard lock(mutex_);
    place_ = std::move(place);
  }
  void End() {
    const std::lock_guard lock(mutex_);
    place_.reset();
  }
  /// Nothing between jobs, before the first and after the last one.
  std::optional<Place> Now() const {
    const std::lock_guard lock(mutex_);
    return place_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Place> place_;
};

}  // namespace weir::master
