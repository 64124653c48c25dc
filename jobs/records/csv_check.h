#pragma once

// Makes and checks CSV rows of generated data: columns, order, checksum. Upstream: files of rows.
// Downstream: `weir data generate`, `weir data validate`.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/job_data.h"
#include "jobs/api/readers.h"
#include "jobs/records/random_numbers.h"

namespace weir {

/// Counts rows that have as many fields as they should; the first field is the key. The checksum is
/// the sum of the XXH3-128 of the rows, modulo 2^128, so that the order of rows does not matter.
///
/// Checked by: tests/unit/jobs/records_test.cc.
class CsvCheck : public DataCheck {
 public:
  CsvCheck(std::size_t num_columns, DataOrder order) : num_columns_(num_columns), order_(order) {}

  void BeginFile(std::string_view path) override;
  absl::Status Add(std::string_view bytes) override;
  absl::Status EndFile() override;
  DataSummary Summary() const override;

 private:
  __extension__ using Sum = unsigned __int128;

  absl::Status AddRow(std::string_view row);
  absl::Status Wrong(std::string_view what) const;

  const std::size_t num_columns_;
  const DataOrder order_;
  CsvRows reader_;
  std::string path_;
  std::int64_t file_bytes_ = 0;  // up to the row that is being looked at
  std::int64_t file_rows_ = 0;
  std::string begun_;  // a row whose end has not come yet
  std::string last_key_;
  DataSummary summary_;
  Sum sum_ = 0;
};

/// What `weir data` makes and checks for jobs on CSV: rows of `Rows`, a RecordGenerator made of
/// GenerateOptions that takes a skew, of so many columns.
template <typename Rows, std::size_t kColumns>
class CsvData : public JobData {
 public:
  absl::StatusOr<std::unique_ptr<RecordGenerator>> MakeGenerator(
      const GenerateOptions& options) const override {
    if (absl::Status status = CheckSkew(options); !status.ok()) return status;
    return std::make_unique<Rows>(options);
  }
  std::unique_ptr<DataCheck> MakeCheck(DataOrder order) const override {
    return std::make_unique<CsvCheck>(kColumns, order);
  }
};

}  // namespace weir
