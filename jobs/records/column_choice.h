#pragma once

// Some columns of CSV rows side by side, or one column for each value of another. Upstream:
// parameters. Downstream: jobs that make one result a column or a key.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"
#include "jobs/api/readers.h"
#include "jobs/records/csv_columns.h"

namespace weir {

/// The columns whose values a job takes: all, one, or one by keys.
/// Checked by: tests/unit/jobs/records_test.cc.
struct ColumnChoice {
  CsvColumns columns;
  std::size_t begin = 0;
  std::size_t end = 0;
  /// The column with the key of the row.
  std::optional<std::size_t> key;

  /// Declares `column`, `key` and those of CsvColumns.
  static void AddParameters(std::vector<ParameterInfo>& parameters);
  /// Reads them. Errors: kInvalidArgument naming the parameter, or saying which to give.
  static absl::StatusOr<ColumnChoice> Of(const ParameterValues& values);

  /// Says which line of a result comes first, for PresentFirstLines: lines begin with the name of a
  /// column, which go in the order of the columns, or with a key.
  std::function<bool(std::string_view, std::string_view)> OrderOfLines() const;

  /// False when nothing is to be taken from the row: it is a header, counted by
  /// `header_counter`, or was rejected.
  template <typename Emit>
  bool Accepts(const CsvRow& row, Emit& emit, std::size_t header_counter) const {
    if (!columns.Fits(row)) {
      emit.Reject(row.line, columns.misfit());
      return false;
    }
    if (columns.IsHeader(row)) {
      emit.Increment(header_counter);
      return false;
    }
    if (key && !IsPlainText(row.fields[*key])) {
      emit.Reject(row.line, "control character in the key");
      return false;
    }
    return true;
  }
};

}  // namespace weir
