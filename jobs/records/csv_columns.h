#pragma once

// Which columns of CSV rows a job is to look at, by name or by number. Upstream: parameters.
// Downstream: Map of jobs that read CSV.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"
#include "jobs/api/readers.h"

namespace weir {

/// Most columns a row may be said to have.
inline constexpr std::int64_t kCsvColumnsMax = 100'000;

/// Names, number and choice of the columns of CSV rows.
///
/// A range of the input may begin anywhere, so no mapper but one sees the first line of a file.
/// Names are therefore a parameter, `header`, which holds that line, as `head -n1` shows it; rows
/// equal to it are headers and are left out wherever they stand. Without names columns are numbered
/// from 1.
/// Checked by: tests/unit/jobs/records_test.cc.
class CsvColumns {
 public:
  /// Declares the parameters `header` and `columns`.
  static void AddParameters(std::vector<ParameterInfo>& parameters);

  /// Reads them. Errors: kInvalidArgument naming parameter and value.
  static absl::StatusOr<CsvColumns> Of(const ParameterValues& values);

  /// Returns the index, from 0, of the column that `parameter` names: by its name in the header,
  /// else by its number from 1. Rows must have it from then on.
  /// Errors: kInvalidArgument naming parameter and value.
  absl::StatusOr<std::size_t> Require(const ParameterValues& values, const std::string& parameter);

  /// Columns of each row; 0: not said.
  std::size_t count() const { return count_; }
  /// Its name in the header, else its number from 1.
  std::string NameOf(std::size_t index) const;
  /// True when the fields are the names.
  bool IsHeader(const CsvRow& row) const {
    return !names_.empty() && row.fields[0] == names_[0] && HasNames(row);
  }
  /// True when the row has the columns said, or, when nothing was said, all that were required.
  bool Fits(const CsvRow& row) const {
    return count_ > 0 ? row.fields.size() == count_ : row.fields.size() >= least_;
  }
  /// What is said of a row that does not fit.
  const std::string& misfit() const { return misfit_; }

 private:
  bool HasNames(const CsvRow& row) const;
  void SayMisfit();

  std::vector<std::string> names_;
  std::size_t count_ = 0;
  std::size_t least_ = 1;
  std::string misfit_;
};

/// True when text can stand in a line of fields parted by tabs: no control characters.
bool IsPlainText(std::string_view text);

}  // namespace weir
