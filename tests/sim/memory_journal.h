#pragma once

// A journal in memory. Outlives the simulated master, as a disk does.

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/master/journal/journal.h"

namespace weir::sim {

class MemoryJournal final : public master::Journal {
 public:
  absl::Status Append(absl::Span<const v1::JournalRecord> records) override {
    if (full_) return absl::ResourceExhaustedError("no space left for the journal (simulated)");
    records_.insert(records_.end(), records.begin(), records.end());
    return absl::OkStatus();
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
    std::copy_if(records_.begin(), records_.end(), std::back_inserter(found),
                 [&](const v1::JournalRecord& record) { return record.job_id() == job_id; });
    return found;
  }
  absl::Status Forget(absl::Span<const std::string> job_ids) override {
    std::erase_if(records_, [&](const v1::JournalRecord& record) {
      return !record.job_id().empty() &&
             std::find(job_ids.begin(), job_ids.end(), record.job_id()) != job_ids.end();
    });
    return absl::OkStatus();
  }

  const std::vector<v1::JournalRecord>& records() const { return records_; }
  void SetFull(bool full) { full_ = full; }

 private:
  std::vector<v1::JournalRecord> records_;
  bool full_ = false;
};

}  // namespace weir::sim
