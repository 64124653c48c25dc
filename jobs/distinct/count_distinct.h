#pragma once

// The job itself: values of each column, or of one column for each key of another, into sketches.
// Upstream: CSV rows. Downstream: parts with lines "column or key TAB count".

#include <xxhash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jobs/api/readers.h"
#include "jobs/distinct/hyper_log_log.h"
#include "jobs/records/column_choice.h"

namespace weir::distinct {

/// What both forms share. Values are compared as they are written, without quotes; an empty one is
/// missing.
class CountDistinct {
 public:
  using Reader = CsvRows;
  using Value = HyperLogLog;
  static constexpr bool kCommutative = true;
  static constexpr std::array<std::string_view, 3> kCounters = {"values", "missing_values",
                                                                "header_lines"};

  explicit CountDistinct(ColumnChoice choice) : choice_(std::move(choice)) {}

  void Combine(Value& into, const Value& from) const { into.Merge(from); }

 protected:
  static constexpr std::size_t kHeaderLines = 2;

  template <typename Key, typename Emit>
  static void Take(const Key& key, std::string_view value, Emit& emit) {
    if (value.empty()) return emit.Increment(1);
    emit.Increment(0);
    emit(key, HyperLogLog(XXH3_64bits(value.data(), value.size())));
  }

  static void AppendCount(const Value& value, std::string& out) {
    absl::StrAppend(&out, "\t", value.Estimate(), "\n");
  }

  ColumnChoice choice_;
};

/// Distinct values of columns, side by side. Keys are the columns, in their order.
class DistinctOfColumns : public CountDistinct {
 public:
  using Key = std::int32_t;
  using CountDistinct::CountDistinct;

  template <typename Emit>
  void Map(const CsvRow& row, Emit& emit) {
    if (!choice_.Accepts(row, emit, kHeaderLines)) return;
    for (std::size_t i = choice_.begin; i < choice_.end; ++i) {
      Take(static_cast<std::int32_t>(i), row.fields[i], emit);
    }
  }

  void Format(const std::int32_t& column, const Value& value, std::string& out) const {
    out.append(choice_.columns.NameOf(static_cast<std::size_t>(column)));
    AppendCount(value, out);
  }
};

/// Distinct values of one column for each value of another. Requires: a key was chosen.
class DistinctOfKeys : public CountDistinct {
 public:
  using Key = std::string;
  using CountDistinct::CountDistinct;

  template <typename Emit>
  void Map(const CsvRow& row, Emit& emit) {
    if (!choice_.Accepts(row, emit, kHeaderLines)) return;
    Take(row.fields[*choice_.key], row.fields[choice_.begin], emit);
  }

  void Format(std::string_view key, const Value& value, std::string& out) const {
    out.append(key);
    AppendCount(value, out);
  }
};

}  // namespace weir::distinct
