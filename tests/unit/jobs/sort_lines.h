#pragma once

// A job with Reduce, for tests of what lies under jobs.

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "jobs/api/readers.h"
#include "jobs/engine/group_values.h"

namespace weir::testing {

/// Lines "key rest" by their keys, those of one key in the order of the input.
struct SortLines {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::string;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    const std::size_t space = line.find(' ');
    emit(line.substr(0, space), std::string(line.substr(space + 1)));
  }
  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<Value>& values, Emit&& emit) const {
    Value value;
    while (values.Next(value)) emit(key, value);
  }
  void Format(std::string_view key, const Value& value, std::string& out) const {
    absl::StrAppend(&out, std::string(key), " ", value, "\n");
  }
};

}  // namespace weir::testing
