#pragma once

// Values as bytes. Upstream: the author's Value type. Downstream: sections.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace weir {

/// Turns a value into bytes and back. Specialise it for a value type of your own with the same two
/// functions; Take removes one value from the front of `in` and returns false when there is none.
/// Checked by: tests/unit/jobs/codec_test.cc.
template <typename T>
struct ValueCodec;

/// Numbers and structs that may be copied as memory. All machines of a cluster are little-endian
/// and run the same program, so the layout is the same.
template <typename T>
requires std::is_trivially_copyable_v<T>
struct ValueCodec<T> {
  static void Append(const T& value, std::string& out) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static bool Take(std::string_view& in, T& value) {
    if (in.size() < sizeof value) return false;
    std::memcpy(&value, in.data(), sizeof value);
    in.remove_prefix(sizeof value);
    return true;
  }
};

/// Strings: length (8 bytes), then the bytes.
template <>
struct ValueCodec<std::string> {
  static void Append(std::string_view value, std::string& out) {
    ValueCodec<std::uint64_t>::Append(value.size(), out);
    out.append(value);
  }
  static bool Take(std::string_view& in, std::string& value) {
    std::uint64_t bytes = 0;
    if (!ValueCodec<std::uint64_t>::Take(in, bytes) || bytes > in.size()) return false;
    value.assign(in.data(), bytes);
    in.remove_prefix(bytes);
    return true;
  }
};

/// Tuples that are not trivially copyable: element by element.
template <typename... T>
requires(!std::is_trivially_copyable_v<std::tuple<T...>>) struct ValueCodec<std::tuple<T...>> {
  static void Append(const std::tuple<T...>& value, std::string& out) {
    std::apply([&out](const T&... part) { (ValueCodec<T>::Append(part, out), ...); }, value);
  }
  static bool Take(std::string_view& in, std::tuple<T...>& value) {
    return std::apply([&in](T&... part) { return (ValueCodec<T>::Take(in, part) && ...); }, value);
  }
};

}  // namespace weir
