#pragma once

// Counts rows of numbers. Upstream: files of rows. Downstream: weir data.

#include <cstdint>
#include <string>

#include "jobs/api/job_data.h"

namespace weir::kmeans {

/// Takes rows, each ended by a newline. The checksum is the sum of the XXH3-64 of the rows, modulo
/// 2^64. Rows have no key, so an order by key cannot be asked for.
/// Checked by: tests/unit/jobs/kmeans_test.cc.
class PointCheck : public DataCheck {
 public:
  explicit PointCheck(DataOrder order) : order_(order) {}

  void BeginFile(std::string_view path) override { path_ = path; }
  absl::Status Add(std::string_view bytes) override;
  absl::Status EndFile() override;
  DataSummary Summary() const override;

 private:
  const DataOrder order_;
  std::string path_;
  std::string begun_;  // a row whose end has not come yet
  std::int64_t records_ = 0;
  std::int64_t bytes_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace weir::kmeans
