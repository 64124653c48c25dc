#pragma once

// Records that steps left out, over a whole job. Pure. Upstream: step results. Downstream:
// ConductorRun, JobStatus.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/numeric/int128.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/steps.pb.h"

namespace weir::master {

/// Adds up what the steps report: each step by itself may leave out as many as the whole job.
///
/// Checked by: tests/unit/master/skipped_records_test.cc.
class SkippedRecords {
 public:
  explicit SkippedRecords(std::int64_t allowed) : allowed_(allowed) {}
  /// By the whole job, and so by each of its steps.
  std::int64_t allowed() const { return allowed_; }

  /// Takes the result of a step that succeeded. Returns BAD_RECORD with one of its records once
  /// they are too many together.
  std::optional<v1::JobError> Add(const v1::StepResult& result, bool reads_input);
  /// What this step left out does not count: it is done again.
  void Forget(std::int32_t step);

  /// BAD_RECORD when records were left out and not one was taken: the input is not what the job
  /// expects, and an empty result would hide that. A job that took some and made nothing of them,
  /// as a filter may, is sound. Ask when all steps are done.
  std::optional<v1::JobError> NothingTaken() const;

  /// The first ones, in the order of the reports.
  std::vector<v1::SkippedRecord> named() const;

 private:
  static v1::JobError ErrorAt(const v1::SkippedRecord& record, const std::string& what,
                              const std::string& advice);

  struct OfStep {
    // Wide: workers may say anything, and sums go down again.
    absl::int128 count = 0;
    // Where it reads the input: records that were read and are not bad. Readers of lines, rows and
    // records of one size count each record, and so do those of scripts; whole blocks (Block of
    // jobs/api/readers.h) count the pairs that are emitted, or what the job says, and no bad
    // record, so that of these only output shows that something was taken.
    absl::int128 taken_records = 0;
    // Where it reads the input. Vectors have all their places, whatever was taken.
    absl::int128 output_records = 0;
  };

  const std::int64_t allowed_;
  OfStep sum_;
  absl::btree_map<std::int32_t, OfStep> of_step_;
  std::vector<std::pair<std::int32_t, v1::SkippedRecord>> named_;  // step, record
};

}  // namespace weir::master
