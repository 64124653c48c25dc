#pragma once

// A journal in memory. Outlives the simulated master, as a disk does.

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/master/journal/journal.h"

namespace weir::sim {

class MemoryJournal final : public master::Journal {
 public:
  /// What becomes of a write.
  enum class Fate { kWritten, kLost, kWrittenUnknown };

  absl::Status Append(absl::Span<const v1::JournalRecord> records) override {
    told_.insert(told_.end(), records.begin(), records.end());
    if (full_) return absl::ResourceExhaustedError("no space left for the journal (simulated)");
    const Fate fate = gate_ ? gate_() : Fate::kWritten;
    if (fate == Fate::kLost) return absl::UnavailableError("the master died here (simulated)");
    ++num_writes_;
    records_.insert(records_.end(), records.begin(), records.end());
    return fate == Fate::kWritten
               ? absl::OkStatus()
               : absl::UnavailableError("written, and the master died here (simulated)");
  }
  absl::Status ReadHistory(absl::FunctionRef<void(const v1::JournalRecord&)> visit) override {
    for (v1::JournalRecord record : records_) {
      if (record.has_job_plan_given() || record.has_job_planned() || record.has_step_committed()) {
        continue;
      }
      if (record.has_job_ended()) record.mutable_job_ended()->clear_logs();
      visit(record);
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<v1::JournalRecord>> ReadJob(const std::string& job_id) override {
    std::vector<v1::JournalRecord> found;
    for (const v1::JournalRecord& record : records_) {
      if (record.job_id() != job_id) continue;
      // As a file drops them: nobody goes on from the steps of a job that has ended.
      if (record.has_job_ended()) {
        std::erase_if(found, [](const v1::JournalRecord& r) { return r.has_step_committed(); });
      }
      found.push_back(record);
    }
    return found;
  }
  absl::StatusOr<std::vector<v1::JournalRecord>> ReadLast(
      const std::string& job_id, absl::Span<const v1::JournalRecord::RecordCase> kinds) override {
    std::vector<v1::JournalRecord> found;
    for (const v1::JournalRecord::RecordCase kind : kinds) {
      const auto last =
          std::find_if(records_.rbegin(), records_.rend(), [&](const v1::JournalRecord& record) {
            return record.job_id() == job_id && record.record_case() == kind;
          });
      if (last != records_.rend()) found.push_back(*last);
    }
    return found;
  }
  absl::Status Forget(absl::Span<const std::string> job_ids) override {
    // What they taught outlives them; nothing simulated forgets as many as that has bounds.
    for (v1::JournalRecord& record : records_) {
      if (record.has_job_shape_learned() &&
          std::find(job_ids.begin(), job_ids.end(), record.job_id()) != job_ids.end()) {
        record.clear_job_id();
      }
    }
    std::erase_if(records_, [&](const v1::JournalRecord& record) {
      return !record.job_id().empty() &&
             std::find(job_ids.begin(), job_ids.end(), record.job_id()) != job_ids.end();
    });
    return absl::OkStatus();
  }

  const std::vector<v1::JournalRecord>& records() const { return records_; }
  /// All that was to be written, in order, also what found no room: what nobody waits for (a step
  /// that was done) counts all the same.
  const std::vector<v1::JournalRecord>& told() const { return told_; }
  void SetFull(bool full) { full_ = full; }
  /// Asked before each write. Null: all are written.
  void SetGate(std::function<Fate()> gate) { gate_ = std::move(gate); }
  int num_writes() const { return num_writes_; }

 private:
  std::vector<v1::JournalRecord> records_;
  std::vector<v1::JournalRecord> told_;
  bool full_ = false;
  std::function<Fate()> gate_;
  int num_writes_ = 0;
};

}  // namespace weir::sim
