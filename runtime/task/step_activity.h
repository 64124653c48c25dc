#pragma once

// What a running step tells the outside: progress and counters out, cancellation in. Upstream: the
// engine and the step's files. Downstream: progress events of the task.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "jobs/api/counter_sum.h"
#include "jobs/api/program.h"
#include "runtime/base/limits.h"
#include "runtime/base/valid_utf8.h"

namespace weir::task {

/// Counter of the records that were left out (JobSpec.skip_bad).
inline constexpr std::string_view kBadRecords = "bad_records";

/// Names under which a step may count, all slots together, and their bytes. With kBadRecords they
/// are as many as a master takes of a step: it would take the report of more for a worker's fault.
inline constexpr std::size_t kStepCountersMax = 9999;
inline constexpr std::size_t kStepCounterNameBytesMax = 1 << 20;

/// Thread-safe. Lives as long as its step.
class StepActivity {
 public:
  /// `skip_bad`: how many records may be left out. `checks_operation`: whether map steps try what
  /// the job declares of its operation.
  explicit StepActivity(std::int64_t skip_bad = 0, bool checks_operation = true)
      : skip_bad_(skip_bad), checks_operation_(checks_operation) {}

  bool checks_operation() const { return checks_operation_; }

  void AddInputBytes(std::int64_t bytes) { input_bytes_ += bytes; }
  void AddOutputBytes(std::int64_t bytes) { output_bytes_ += bytes; }
  std::int64_t input_bytes() const { return input_bytes_; }
  std::int64_t output_bytes() const { return output_bytes_; }

  /// A thread of the step begins, or has ended, a read, write or sync.
  void BeginIo() { ++io_under_way_; }
  void EndIo() { --io_under_way_; }
  bool io_under_way() const { return io_under_way_ > 0; }

  void Cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }

  /// One more name than a step may count under counts nothing, and is remembered.
  void AddCounter(std::string_view name, std::int64_t value) {
    const std::lock_guard lock(mutex_);
    const auto [counter, added] = counters_.try_emplace(std::string(name), 0);
    if (added && (counters_.size() > kStepCountersMax ||
                  counter_name_bytes_ + name.size() > kStepCounterNameBytesMax)) {
      counters_.erase(counter);
      too_many_counters_ = true;
      return;
    }
    if (added) counter_name_bytes_ += name.size();
    AddToCounter(counter->second, value);
  }
  bool too_many_counters() const {
    const std::lock_guard lock(mutex_);
    return too_many_counters_;
  }
  absl::btree_map<std::string, std::int64_t> counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  void SetStatus(std::string_view status) {
    const std::lock_guard lock(mutex_);
    status_ = OneLine(status, limits::kStatusBytesMax);
  }
  std::string status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  /// Counts a record that is left out; false when there were enough.
  bool SkipBad(const BadRecord& record) {
    const std::lock_guard lock(mutex_);
    if (num_skipped_ == skip_bad_) return false;
    ++num_skipped_;
    AddToCounter(counters_[std::string(kBadRecords)], 1);
    if (skipped_.size() < kSkippedNamed) skipped_.push_back(record);
    return true;
  }
  std::int64_t num_skipped() const {
    const std::lock_guard lock(mutex_);
    return num_skipped_;
  }
  /// The first of them.
  std::vector<BadRecord> skipped() const {
    const std::lock_guard lock(mutex_);
    return skipped_;
  }

 private:
  // A person looks at a few and mends the cause.
  static constexpr std::size_t kSkippedNamed = 5;

  const std::int64_t skip_bad_;
  const bool checks_operation_;
  std::atomic<std::int64_t> input_bytes_ = 0;
  std::atomic<std::int64_t> output_bytes_ = 0;
  std::atomic<int> io_under_way_ = 0;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  absl::btree_map<std::string, std::int64_t> counters_;  // guarded by mutex_
  std::size_t counter_name_bytes_ = 0;                   // guarded by mutex_
  bool too_many_counters_ = false;                       // guarded by mutex_
  std::string status_;                                   // guarded by mutex_
  std::int64_t num_skipped_ = 0;                         // guarded by mutex_
  std::vector<BadRecord> skipped_;                       // guarded by mutex_
};

/// Says that a read, write or sync of the step's files is under way, for as long as it exists. How
/// long that takes is up to the disk, and not everything that waits for one looks so from outside:
/// what FUSE serves does not.
class FileIo {
 public:
  explicit FileIo(StepActivity& activity) : activity_(activity) { activity_.BeginIo(); }
  ~FileIo() { activity_.EndIo(); }
  FileIo(const FileIo&) = delete;
  FileIo& operator=(const FileIo&) = delete;

 private:
  StepActivity& activity_;
};

/// What a step may use of its worker.
struct StepRoom {
  std::int64_t memory_bytes = 0;       // 0 = no limit
  std::int64_t spill_above_bytes = 0;  // 0 = as memory_bytes
  bool refers_to_input = false;        // StepContext::refers_to_input
  std::string folder = {};             // for files of its own; empty: none
};

/// The engine's view of a running step.
class ActivityContext : public StepContext {
 public:
  using NewSpillFile = std::function<absl::StatusOr<std::unique_ptr<SpillFile>>()>;

  /// `new_spill`: nothing where the room has no folder.
  ActivityContext(StepIdentity identity, SlotPool& slots, const StepRoom& room,
                  StepActivity& activity, NewSpillFile new_spill)
      : identity_(std::move(identity)),
        slots_(slots),
        memory_bytes_(room.memory_bytes),
        spill_above_bytes_(room.spill_above_bytes > 0 ? room.spill_above_bytes : room.memory_bytes),
        refers_to_input_(room.refers_to_input),
        activity_(activity),
        new_spill_(std::move(new_spill)) {}

  StepIdentity identity() const override { return identity_; }

  SlotPool& slots() override { return slots_; }
  void AddProgress(std::int64_t input_bytes) override { activity_.AddInputBytes(input_bytes); }
  void BeginRead() override { activity_.BeginIo(); }
  void EndRead() override { activity_.EndIo(); }
  void AddCounter(std::string_view name, std::int64_t value) override {
    activity_.AddCounter(name, value);
  }
  void SetStatus(std::string_view status) override { activity_.SetStatus(status); }
  bool SkipBad(const BadRecord& record) override { return activity_.SkipBad(record); }
  bool checks_operation() const override { return activity_.checks_operation(); }
  bool cancelled() const override { return activity_.cancelled(); }
  std::int64_t memory_bytes() const override { return memory_bytes_; }
  std::int64_t spill_above_bytes() const override { return spill_above_bytes_; }
  bool refers_to_input() const override { return refers_to_input_; }
  absl::StatusOr<std::unique_ptr<SpillFile>> NewSpill() override {
    return new_spill_ ? new_spill_() : StepContext::NewSpill();
  }

 private:
  const StepIdentity identity_;
  SlotPool& slots_;
  const std::int64_t memory_bytes_;
  const std::int64_t spill_above_bytes_;
  const bool refers_to_input_;
  StepActivity& activity_;
  const NewSpillFile new_spill_;
};

}  // namespace weir::task
