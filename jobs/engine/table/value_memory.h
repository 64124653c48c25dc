#pragma once

// Memory that a value holds outside of itself. Upstream: the author's Value type. Downstream:
// combine_table.h, which counts it against the memory of the step.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

namespace weir {

/// Bytes of the heap that belong to a value. Specialise it for a value type of your own, or give
/// that a member `std::int64_t heap_bytes() const`. Values without either count as they are: none
/// where they are trivially copyable.
///
/// Checked by: tests/unit/jobs/combine_table_test.cc.
template <typename T>
struct ValueMemory {
  static constexpr bool kOwnsHeap = requires(const T& value) {
    { value.heap_bytes() } -> std::convertible_to<std::int64_t>;
  };
  static std::int64_t HeapBytes(const T& value) {
    if constexpr (kOwnsHeap) {
      return value.heap_bytes();
    } else {
      return 0;
    }
  }
};

template <>
struct ValueMemory<std::string> {
  static constexpr bool kOwnsHeap = true;
  static std::int64_t HeapBytes(const std::string& value) {
    static const std::size_t inside = std::string().capacity();
    return value.capacity() <= inside ? 0 : static_cast<std::int64_t>(value.capacity()) + 1;
  }
};

template <typename... T>
struct ValueMemory<std::tuple<T...>> {
  static constexpr bool kOwnsHeap = (ValueMemory<T>::kOwnsHeap || ...);
  static std::int64_t HeapBytes(const std::tuple<T...>& value) {
    return std::apply(
        [](const T&... part) { return (ValueMemory<T>::HeapBytes(part) + ... + std::int64_t{0}); },
        value);
  }
};

}  // namespace weir
