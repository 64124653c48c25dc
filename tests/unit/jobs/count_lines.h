#pragma once

// Jobs of a few lines, for tests of what lies under jobs.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "jobs/api/readers.h"

namespace weir::testing {

/// Counts equal lines; a part has "line count" for each.
struct CountLines {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::int64_t;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    emit(line, 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view key, const Value& value, std::string& out) const {
    absl::StrAppend(&out, std::string(key), " ", value, "\n");
  }
};

/// Of the counts of lines, how many lines of each length have each; for a layer behind CountLines.
struct LinesOfCount {
  using Key = std::int64_t;
  using Value = std::int64_t;
  template <typename Emit>
  void Map(std::string_view line, const std::int64_t& count, Emit& emit) {
    emit(count * 1000 + static_cast<std::int64_t>(line.size()), 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::int64_t key, const Value& value, std::string& out) const {
    absl::StrAppend(&out, key, " ", value, "\n");
  }
};

}  // namespace weir::testing
