#pragma once

// Checks records: sizes, order, checksum. Upstream: files of records. Downstream: `weir data
// validate terasort`.

#include <cstdint>
#include <string>
#include <string_view>

#include "jobs/api/job_data.h"

namespace weir::terasort {

/// Counts and checks records. The checksum is the sum of the XXH3-128 of the records, modulo 2^128:
/// two sets of records that differ have the same one with a probability of about 2^-128, in
/// whatever order they come.
///
/// Checked by: tests/unit/jobs/terasort_data_test.cc.
class RecordCheck : public DataCheck {
 public:
  explicit RecordCheck(DataOrder order) : order_(order) {}

  void BeginFile(std::string_view path) override;
  absl::Status Add(std::string_view bytes) override;
  absl::Status EndFile() override;
  DataSummary Summary() const override;

 private:
  __extension__ using Sum = unsigned __int128;

  absl::Status AddRecord(std::string_view record);

  const DataOrder order_;
  std::string path_;
  std::int64_t records_of_file_ = 0;
  std::string begun_;  // a record whose end has not come yet
  std::string last_key_;
  std::string last_path_;  // where the last key was
  std::int64_t records_ = 0;
  std::int64_t repeated_keys_ = 0;
  Sum sum_ = 0;
};

}  // namespace weir::terasort
