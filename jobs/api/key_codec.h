#pragma once

// Keys as bytes whose order is the order of the keys. Upstream: the author's Key type. Downstream:
// tables, sections and sorted output, which know bytes only.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace weir {

/// A short key as numbers: up to 16 bytes, the first ones lowest, zeros behind the last. Tables
/// hold such keys as two words, and bytes that were just written to memory can be read back as
/// words only after a wait.
///
/// Thread-safety: a value.
/// Checked by: tests/unit/jobs/codec_test.cc.
class ShortKey {
 public:
  static constexpr std::size_t kBytesMax = 16;

  ShortKey() = default;
  /// Requires: at most kBytesMax bytes. Reads no others.
  explicit ShortKey(std::string_view text) : bytes_(static_cast<std::uint32_t>(text.size())) {
    const char* const data = text.data();
    // Two loads that overlap, so that the length costs no loop.
    if (text.size() >= 8) {
      // In two steps, because the last eight may all be among the first.
      const std::uint32_t half_known = 4 * (kBytesMax - bytes_);
      const std::uint64_t last = Load<std::uint64_t>(data + bytes_ - 8) >> half_known >> half_known;
      bits_ = Load<std::uint64_t>(data) | static_cast<Bits>(last) << 64;
    } else if (text.size() >= 4) {
      bits_ = Load<std::uint32_t>(data) | At(Load<std::uint32_t>(data + bytes_ - 4), bytes_ - 4);
    } else if (!text.empty()) {
      const std::uint32_t middle = bytes_ / 2;
      bits_ = Load<std::uint8_t>(data) | At(Load<std::uint8_t>(data + middle), middle) |
              At(Load<std::uint8_t>(data + bytes_ - 1), bytes_ - 1);
    }
  }

  /// Appends the lowest `bytes` bytes of `bits`, whose others are zero, the lowest first.
  /// Requires: at least one, and room for them.
  void Append(std::uint64_t bits, std::uint32_t bytes) {
    // Apart, because a shift of both words by any number is ten instructions.
    if (bytes_ >= 8) {
      bits_ |= static_cast<Bits>(bits << (8 * (bytes_ - 8))) << 64;
    } else {
      bits_ |= At(bits, bytes_);
    }
    bytes_ += bytes;
  }

  std::uint64_t word0() const { return static_cast<std::uint64_t>(bits_); }
  std::uint64_t word1() const { return static_cast<std::uint64_t>(bits_ >> 64); }
  std::uint32_t bytes() const { return bytes_; }

 private:
  __extension__ using Bits = unsigned __int128;

  template <typename T>
  static T Load(const char* from) {
    T word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }
  static Bits At(std::uint64_t bits, std::uint32_t byte) {
    return static_cast<Bits>(bits) << (8 * byte);
  }

  Bits bits_ = 0;
  std::uint32_t bytes_ = 0;
};

/// Turns a key into bytes that compare (memcmp) as the keys do, and back. Specialise it for a key
/// type of your own with the same two functions.
///
/// Optional: `static bool Short(const T& key, ShortKey& out)` gives the same bytes as numbers,
/// which a table takes without a detour through memory; false for keys that are too long for it.
///
/// Append adds the bytes of one key; Take removes them from the front of `in` and returns false
/// when they are not a key. Take must find the end of a key by itself, because keys of tuples
/// follow one another. Checked by: tests/unit/jobs/codec_test.cc.
template <typename T>
struct KeyCodec;

namespace key_codec_internal {

template <typename Unsigned>
void AppendBigEndian(Unsigned bits, std::string& out) {
  for (int shift = static_cast<int>(sizeof bits) * 8 - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(bits >> shift));
  }
}

template <typename Unsigned>
bool TakeBigEndian(std::string_view& in, Unsigned& bits) {
  if (in.size() < sizeof bits) return false;
  bits = 0;
  for (std::size_t i = 0; i < sizeof bits; ++i) {
    bits = static_cast<Unsigned>(bits << 7 << 1 | static_cast<unsigned char>(in[i]));
  }
  in.remove_prefix(sizeof bits);
  return true;
}

}  // namespace key_codec_internal

/// Integers, bool and characters: big-endian, sign bit turned over.
template <std::integral T>
struct KeyCodec<T> {
  using Bits = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, char, T>>;
  static constexpr Bits kSign =
      std::is_signed_v<T> ? static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1)) : Bits{0};

  static void Append(T key, std::string& out) {
    key_codec_internal::AppendBigEndian(static_cast<Bits>(static_cast<Bits>(key) ^ kSign), out);
  }
  static bool Take(std::string_view& in, T& key) {
    Bits bits = 0;
    if (!key_codec_internal::TakeBigEndian(in, bits)) return false;
    key = static_cast<T>(static_cast<Bits>(bits ^ kSign));
    return true;
  }
};

/// Floating point numbers in numeric order; -0.0 before 0.0, NaNs at the ends by sign.
template <std::floating_point T>
requires(sizeof(T) == 4 || sizeof(T) == 8) struct KeyCodec<T> {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);

  static void Append(T key, std::string& out) {
    const Bits bits = std::bit_cast<Bits>(key);
    key_codec_internal::AppendBigEndian((bits & kSign) != 0 ? ~bits : bits | kSign, out);
  }
  static bool Take(std::string_view& in, T& key) {
    Bits bits = 0;
    if (!key_codec_internal::TakeBigEndian(in, bits)) return false;
    key = std::bit_cast<T>((bits & kSign) != 0 ? bits & ~kSign : ~bits);
    return true;
  }
};

/// Strings inside tuples: NUL is written as NUL 0xff, the end as NUL NUL. A key that is a string by
/// itself is not encoded at all (see KeyBytes).
template <>
struct KeyCodec<std::string> {
  static void Append(std::string_view key, std::string& out) {
    for (const char c : key) {
      out.push_back(c);
      if (c == '\0') out.push_back('\xff');
    }
    out.append(2, '\0');
  }
  static bool Take(std::string_view& in, std::string& key) {
    key.clear();
    for (std::size_t i = 0; i + 1 < in.size(); ++i) {
      if (in[i] != '\0') {
        key.push_back(in[i]);
      } else if (in[++i] == '\xff') {
        key.push_back('\0');
      } else {
        in.remove_prefix(i + 1);
        return in.data()[-1] == '\0';
      }
    }
    return false;
  }
};

/// Tuples: element by element.
template <typename... T>
struct KeyCodec<std::tuple<T...>> {
  static void Append(const std::tuple<T...>& key, std::string& out) {
    std::apply([&out](const T&... part) { (KeyCodec<T>::Append(part, out), ...); }, key);
  }
  static bool Take(std::string_view& in, std::tuple<T...>& key) {
    return std::apply([&in](T&... part) { return (KeyCodec<T>::Take(in, part) && ...); }, key);
  }
};

/// Structs without padding: their memory. The order is that of the bytes; write a codec for
/// another.
template <typename T>
requires(std::is_class_v<T>&& std::is_trivially_copyable_v<T>&&
             std::has_unique_object_representations_v<T>) struct KeyCodec<T> {
  static void Append(const T& key, std::string& out) {
    out.append(reinterpret_cast<const char*>(&key), sizeof key);
  }
  static bool Take(std::string_view& in, T& key) {
    if (in.size() < sizeof key) return false;
    std::memcpy(&key, in.data(), sizeof key);
    in.remove_prefix(sizeof key);
    return true;
  }
};

namespace key_codec_internal {

template <typename T>
struct ViewOf {
  using Type = T;
};
template <>
struct ViewOf<std::string> {
  using Type = std::string_view;
};
template <typename... T>
struct ViewOf<std::tuple<T...>> {
  using Type = std::tuple<typename ViewOf<T>::Type...>;
};

}  // namespace key_codec_internal

/// A Key as the engine passes it: strings, alone and within tuples, as views; all else as itself.
/// std::tuple<std::string, int> arrives as std::tuple<std::string_view, int>. Views are valid
/// during the call.
template <typename Key>
using KeyView = typename key_codec_internal::ViewOf<Key>::Type;

namespace key_codec_internal {

/// As KeyCodec<T>::Append, of a view.
template <typename T>
struct AppendView {
  static void Of(const KeyView<T>& key, std::string& out) { KeyCodec<T>::Append(key, out); }
};
template <typename... T>
struct AppendView<std::tuple<T...>> {
  static void Of(const KeyView<std::tuple<T...>>& key, std::string& out) {
    std::apply([&out](const KeyView<T>&... part) { (AppendView<T>::Of(part, out), ...); }, key);
  }
};

/// As KeyCodec<T>::Take, without copying strings, unless they hold a NUL: these are appended to
/// `unescaped`, which is not moved: it is given `total_bytes` of room, as many as all of them need.
template <typename T>
struct TakeView {
  static bool Of(std::string_view& in, KeyView<T>& key, std::string&, std::size_t) {
    return KeyCodec<T>::Take(in, key);
  }
};
template <>
struct TakeView<std::string> {
  static bool Of(std::string_view& in, std::string_view& key, std::string& unescaped,
                 std::size_t total_bytes) {
    const std::size_t nul = in.find('\0');
    if (nul >= in.size() || in.size() - nul < 2) return false;
    if (in[nul + 1] == '\0') [[likely]] {
      key = in.substr(0, nul);
      in.remove_prefix(nul + 2);
      return true;
    }
    std::string part;
    if (!KeyCodec<std::string>::Take(in, part)) return false;
    if (unescaped.empty()) unescaped.reserve(total_bytes);
    key = std::string_view(unescaped.data() + unescaped.size(), part.size());
    unescaped.append(part);
    return true;
  }
};
template <typename... T>
struct TakeView<std::tuple<T...>> {
  static bool Of(std::string_view& in, KeyView<std::tuple<T...>>& key, std::string& unescaped,
                 std::size_t total_bytes) {
    return std::apply(
        [&](KeyView<T>&... part) {
          return (TakeView<T>::Of(in, part, unescaped, total_bytes) && ...);
        },
        key);
  }
};
}  // namespace key_codec_internal

/// How a Key is passed to emit, Reduce, Format and Partition (Argument), and what holds one that
/// was read: `Held held; Read(bytes, held); Of(held)`.
template <typename Key>
struct KeyForm {
  using Argument = const Key&;
  using Held = Key;
  static std::string_view Bytes(const Key& key, std::string& scratch) {
    scratch.clear();
    KeyCodec<Key>::Append(key, scratch);
    return scratch;
  }
  /// Returns false when the bytes are not a key.
  static bool Read(std::string_view bytes, Held& key) {
    return KeyCodec<Key>::Take(bytes, key) && bytes.empty();
  }
  static Argument Of(const Held& held) { return held; }
};

template <>
struct KeyForm<std::string> {
  using Argument = std::string_view;
  using Held = std::string_view;
  static std::string_view Bytes(std::string_view key, std::string&) { return key; }
  static bool Read(std::string_view bytes, Held& key) {
    key = bytes;
    return true;
  }
  static Argument Of(const Held& held) { return held; }
};

/// Tuples with strings.
template <typename... T>
requires(
    !std::is_same_v<KeyView<std::tuple<T...>>, std::tuple<T...>>) struct KeyForm<std::tuple<T...>> {
  using Key = std::tuple<T...>;
  using Argument = const KeyView<Key>&;
  /// Stays where it is: the key's views may point into it.
  struct Held {
    Held() = default;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    KeyView<Key> key;
    std::string unescaped;
  };
  static std::string_view Bytes(const KeyView<Key>& key, std::string& scratch) {
    scratch.clear();
    key_codec_internal::AppendView<Key>::Of(key, scratch);
    return scratch;
  }
  static bool Read(std::string_view bytes, Held& held) {
    held.unescaped.clear();
    return key_codec_internal::TakeView<Key>::Of(bytes, held.key, held.unescaped, bytes.size()) &&
           bytes.empty();
  }
  static Argument Of(const Held& held) { return held.key; }
};

}  // namespace weir
