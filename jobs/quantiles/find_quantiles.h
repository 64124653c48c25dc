#pragma once

// The job itself: numbers of each column, or of one column for each key of another, into sketches.
// Upstream: CSV rows. Downstream: parts with lines "column or key TAB count TAB percentiles...".

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "jobs/api/readers.h"
#include "jobs/quantiles/dd_sketch.h"
#include "jobs/quantiles/percentiles.h"
#include "jobs/records/column_choice.h"
#include "jobs/records/number.h"

namespace weir::quantiles {

/// What both forms share. An empty field is a missing number.
class FindQuantiles {
 public:
  using Reader = CsvRows;
  using Value = DdSketch;
  static constexpr bool kCommutative = true;
  static constexpr std::array<std::string_view, 3> kCounters = {"numbers", "missing_numbers",
                                                                "header_lines"};

  FindQuantiles(ColumnChoice choice, std::vector<Percentile> percentiles)
      : choice_(std::move(choice)), percentiles_(std::move(percentiles)) {}

  void Combine(Value& into, const Value& from) const { into.Merge(from); }

 protected:
  static constexpr std::size_t kHeaderLines = 2;

  template <typename Emit>
  void RejectNumber(const CsvRow& row, std::size_t column, Emit& emit) const {
    emit.Reject(row.line,
                absl::StrCat("column ", choice_.columns.NameOf(column), " ", kNotANumber));
  }

  void AppendNumbers(const Value& value, std::string& out) const {
    const std::int64_t count = value.count();
    absl::StrAppend(&out, "\t", count);
    for (const Percentile& one : percentiles_) {
      absl::StrAppendFormat(&out, "\t%.6g", value.AtRank(RankOf(one, count)));
    }
    out.push_back('\n');
  }

  ColumnChoice choice_;

 private:
  std::vector<Percentile> percentiles_;
};

/// Quantiles of some columns, side by side. Keys are the columns, in their order.
class QuantilesOfColumns : public FindQuantiles {
 public:
  using Key = std::int32_t;
  using FindQuantiles::FindQuantiles;

  template <typename Emit>
  void Map(const CsvRow& row, Emit& emit) {
    if (!choice_.Accepts(row, emit, kHeaderLines)) return;
    // All or none of a row: it may be left out as a bad one.
    numbers_.clear();
    std::int64_t missing = 0;
    for (std::size_t i = choice_.begin; i < choice_.end; ++i) {
      double number = 0;
      if (row.fields[i].empty()) {
        ++missing;
      } else if (ParseNumber(row.fields[i], number)) {
        numbers_.emplace_back(static_cast<std::int32_t>(i), number);
      } else {
        return RejectNumber(row, i, emit);
      }
    }
    emit.Increment(0, static_cast<std::int64_t>(numbers_.size()));
    emit.Increment(1, missing);
    for (const auto& [column, number] : numbers_) emit(column, DdSketch(number));
  }

  void Format(const std::int32_t& column, const Value& value, std::string& out) const {
    out.append(choice_.columns.NameOf(static_cast<std::size_t>(column)));
    AppendNumbers(value, out);
  }

 private:
  std::vector<std::pair<std::int32_t, double>> numbers_;  // of one row
};

/// Quantiles of one column for each value of another. Requires: a key was chosen.
class QuantilesOfKeys : public FindQuantiles {
 public:
  using Key = std::string;
  using FindQuantiles::FindQuantiles;

  template <typename Emit>
  void Map(const CsvRow& row, Emit& emit) {
    if (!choice_.Accepts(row, emit, kHeaderLines)) return;
    const std::string_view text = row.fields[choice_.begin];
    if (text.empty()) return emit.Increment(1);
    double number = 0;
    if (!ParseNumber(text, number)) return RejectNumber(row, choice_.begin, emit);
    emit.Increment(0);
    emit(row.fields[*choice_.key], DdSketch(number));
  }

  void Format(std::string_view key, const Value& value, std::string& out) const {
    out.append(key);
    AppendNumbers(value, out);
  }
};

}  // namespace weir::quantiles
