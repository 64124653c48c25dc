#pragma once

// The job itself: records in, records out, by key. Upstream: blocks of 100-byte records.
// Downstream: terasort.cc.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "jobs/api/key_prefix.h"
#include "jobs/api/readers.h"
#include "jobs/engine/group_values.h"

namespace weir::terasort {

inline constexpr std::size_t kRecordBytes = 100;
inline constexpr std::size_t kKeyBytes = 10;

/// Sorts records by their first kKeyBytes bytes, compared as unsigned numbers. Records of equal
/// keys stay in the order of the input. Part k holds no key greater than one of part k + 1.
class SortRecords {
 public:
  using Reader = FixedRecords<static_cast<std::int64_t>(kRecordBytes)>;
  using Key = std::string;
  using Value = std::array<char, kRecordBytes - kKeyBytes>;
  static constexpr std::size_t kRecordKeyBytes = kKeyBytes;

  template <typename Emit>
  void Map(std::string_view record, Emit& emit) {
    emit.Record(record);
  }

  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<Value>& values, Emit&& emit) const {
    Value rest;
    while (values.Next(rest)) emit(key, rest);
  }

  double Partition(std::string_view key) const { return PlaceInKeyOrder(key); }

  void Format(std::string_view key, const Value& rest, std::string& out) const {
    // Of a known size, which costs no call.
    out.append(key.data(), kKeyBytes).append(rest.data(), rest.size());
  }
};

}  // namespace weir::terasort
