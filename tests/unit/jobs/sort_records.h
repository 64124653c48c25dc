#pragma once

// A job of a few lines whose records stay in its input, for tests of what lies under jobs.

#include <cstddef>
#include <string>
#include <string_view>

#include "jobs/api/readers.h"
#include "jobs/engine/group_values.h"

namespace weir::testing {

/// Sorts records of 100 bytes by their first 10: pairs as they lie in the input.
struct SortRecords {
  static constexpr std::size_t kRecordKeyBytes = 10;
  struct Rest {
    char bytes[90];
  };
  struct Reader : FixedRecords<100> {};
  using Key = std::string;
  using Value = Rest;
  template <typename Emit>
  void Map(std::string_view record, Emit& emit) {
    emit.Record(record);
  }
  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<Value>& values, Emit&& emit) const {
    Value value;
    while (values.Next(value)) emit(key, value);
  }
  void Format(std::string_view key, const Value& value, std::string& out) const {
    out.append(key).append(value.bytes, sizeof value.bytes);
  }
};

}  // namespace weir::testing
