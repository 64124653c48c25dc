#pragma once

// The job itself: one column's numbers, counted by bins. Upstream: CSV rows. Downstream: parts with
// lines "from TAB to TAB count".

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "jobs/api/readers.h"
#include "jobs/histogram/equal_bins.h"
#include "jobs/records/column_choice.h"
#include "jobs/records/number.h"

namespace weir::histogram {

/// Counts as a dense vector: place 0 is for numbers below min, then the bins, then one for numbers
/// above max. An empty field is a missing number.
class CountBins {
 public:
  using Reader = CsvRows;
  using Place = std::int64_t;
  static constexpr bool kCommutative = true;
  static constexpr std::array<std::string_view, 3> kCounters = {"numbers", "missing_numbers",
                                                                "header_lines"};

  CountBins(ColumnChoice choice, EqualBins bins)
      : choice_(std::move(choice)),
        bins_(bins),
        not_a_number_(
            absl::StrCat("column ", choice_.columns.NameOf(choice_.begin), " ", kNotANumber)) {}

  std::int64_t Places() const { return bins_.count() + 2; }

  template <typename Emit>
  void Map(const CsvRow& row, absl::Span<Place> counts, Emit& emit) {
    if (!choice_.Accepts(row, emit, 2)) return;
    const std::string_view text = row.fields[choice_.begin];
    if (text.empty()) return emit.Increment(1);
    double number = 0;
    if (!ParseNumber(text, number)) return emit.Reject(row.line, not_a_number_);
    emit.Increment(0);
    ++counts[static_cast<std::size_t>(bins_.BinOf(number) + 1)];
  }

  void Combine(Place& into, const Place& from) const { into += from; }

  void Format(std::int64_t place, const Place& count, std::string& out) const {
    AppendEdge(place - 1, out);
    out.push_back('\t');
    AppendEdge(place, out);
    absl::StrAppend(&out, "\t", count, "\n");
  }

 private:
  // The shortest decimal that reads back as the same number.
  void AppendEdge(std::int64_t index, std::string& out) const {
    if (index < 0) {
      out.append("-inf");
    } else if (index > bins_.count()) {
      out.append("inf");
    } else {
      char text[32];
      out.append(text, std::to_chars(text, text + sizeof text, bins_.Edge(index)).ptr);
    }
  }

  ColumnChoice choice_;
  EqualBins bins_;
  std::string not_a_number_;
};

}  // namespace weir::histogram
