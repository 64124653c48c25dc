#pragma once

// The job of jobs/api/README.md, in a folder named as one of Weir's own, which must not matter.

#include <weir/make_program.h>
#include <weir/readers.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// "user,text" -> the length of each user's longest text.
struct LongestLine {
  using Reader = weir::CsvRows;
  using Key = std::string;
  using Value = std::int64_t;
  static constexpr bool kCommutative = true;
  static constexpr std::array<std::string_view, 1> kCounters = {"short_rows"};

  template <typename Emit>
  void Map(const weir::CsvRow& row, Emit& emit) {
    if (row.fields.size() < 2) return emit.Increment(0);
    emit(row.fields[0], static_cast<std::int64_t>(row.fields[1].size()));
  }
  void Combine(Value& into, const Value& from) const { into = std::max(into, from); }
  void Format(std::string_view user, const Value& length, std::string& out) const {
    out.append(user).append("\t").append(std::to_string(length)).append("\n");
  }
};
