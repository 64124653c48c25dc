#pragma once

// What the steps of a job stand on within a test: runs and parts in memory, slots as threads, input
// files that go with the test. Upstream: in_process_job.h, tests of jobs and of the engine,
// tests/bench. Downstream: jobs/api/program.h.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"

namespace weir::testing {

/// A run in memory: the blocks of each section.
class MemoryRun : public RunSink {
 public:
  absl::Status BeginSection(int consumer) override;
  absl::Status Append(std::string_view block, std::int64_t records) override;

  const std::map<int, std::vector<std::string>>& sections() const { return sections_; }
  std::int64_t records() const { return records_; }

 private:
  std::map<int, std::vector<std::string>> sections_;
  int consumer_ = -1;
  std::int64_t records_ = 0;
};

/// Reads one section of a MemoryRun, each block from memory of exactly its size.
class MemorySource : public RunSource {
 public:
  explicit MemorySource(std::vector<std::string> blocks) : blocks_(std::move(blocks)) {}
  absl::StatusOr<absl::Span<const char>> NextBlock() override;
  int CountBlocks(int most) const override {
    return std::min(most, static_cast<int>(blocks_.size()));
  }

 private:
  std::vector<std::string> blocks_;
  std::size_t next_ = 0;
  std::unique_ptr<char[]> current_;
};

/// A spilled file in memory.
class MemorySpill : public SpillFile {
 public:
  absl::Status BeginSection(int consumer) override { return run_.BeginSection(consumer); }
  absl::Status Append(std::string_view block, std::int64_t records) override {
    return run_.Append(block, records);
  }
  absl::Status Finish() override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<RunSource>> Open(int consumer) const override;

 private:
  MemoryRun run_;
};

/// One section of each run, in their order.
std::vector<std::unique_ptr<RunSource>> SectionsOf(absl::Span<const MemoryRun> runs, int consumer);

/// A part in memory.
class MemoryPart : public PartSink {
 public:
  absl::Status Append(std::string_view bytes, std::int64_t records) override;

  std::string text;
  std::int64_t records = 0;
};

/// Slots as threads that live for one call. What one of them throws is thrown again when all have
/// ended.
class ThreadPerCall : public SlotPool {
 public:
  explicit ThreadPerCall(int num_slots) : num_slots_(num_slots) {}
  int num_slots() const override { return num_slots_; }
  void RunOnAll(const std::function<void(int slot)>& body) override;

 private:
  const int num_slots_;
};

/// A context that remembers what the engine told it.
class RecordingContext : public StepContext {
 public:
  explicit RecordingContext(int num_slots, std::int64_t memory_bytes = 0)
      : slots_(num_slots), memory_bytes_(memory_bytes) {}

  SlotPool& slots() override { return slots_; }
  void AddProgress(std::int64_t input_bytes) override { progress_bytes += input_bytes; }
  void AddCounter(std::string_view name, std::int64_t value) override;
  void SetStatus(std::string_view text) override;
  bool SkipBad(const BadRecord& record) override;
  bool checks_operation() const override { return check_operation; }
  bool cancelled() const override { return cancel; }
  std::int64_t memory_bytes() const override { return memory_bytes_; }
  std::int64_t spill_above_bytes() const override {
    return spill_above > 0 ? spill_above : memory_bytes_;
  }
  bool refers_to_input() const override { return input_is_shared; }
  absl::StatusOr<std::unique_ptr<SpillFile>> NewSpill() override;

  std::atomic<std::int64_t> progress_bytes = 0;
  std::atomic<bool> cancel = false;
  std::map<std::string, std::int64_t, std::less<>> counters;
  std::vector<std::string> statuses;
  bool check_operation = true;
  bool input_is_shared = false;  // by all steps, in memory
  std::int64_t spill_above = 0;  // 0: there is no place for files
  std::atomic<int> num_spills = 0;
  std::size_t skip_bad = 0;
  std::vector<BadRecord> skipped;

 private:
  ThreadPerCall slots_;
  const std::int64_t memory_bytes_;
  std::mutex mutex_;
};

/// A file in a folder of its own that is removed with the object.
class ScratchFile {
 public:
  /// `suffix` ends its name.
  explicit ScratchFile(std::string_view contents, std::string_view suffix = "");
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }
  /// The whole file as one range.
  InputRange range() const;

 private:
  std::string folder_;
  std::string path_;
};

}  // namespace weir::testing
