#pragma once

// Checks the records that a job offers to `weir data generate`. Upstream: tests of jobs.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "jobs/api/job_data.h"

namespace weir::testing {

/// Expects that each of the first `rows` rows depends on its number alone, and that the job's own
/// check takes them all. Returns them.
inline std::string ExpectRowsOfTheirNumbers(const JobData& data, int rows) {
  std::string forth, back;
  auto generator = *data.MakeGenerator({.seed = 3, .skew = 0.5});
  for (int i = 0; i < rows; ++i) generator->Append(i, forth);
  auto again = *data.MakeGenerator({.seed = 3, .skew = 0.5});
  for (int i = rows - 1; i >= 0; --i) {
    std::string row;
    again->Append(i, row);
    back = row + back;
  }
  EXPECT_EQ(forth, back);
  const auto check = data.MakeCheck(DataOrder::kAny);
  check->BeginFile("rows");
  EXPECT_EQ(check->Add(forth), absl::OkStatus());
  EXPECT_EQ(check->EndFile(), absl::OkStatus());
  EXPECT_EQ(check->Summary().records, rows);
  return forth;
}

}  // namespace weir::testing
