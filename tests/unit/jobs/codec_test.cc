#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "jobs/api/key_codec.h"
#include "jobs/api/value_codec.h"

namespace weir {
namespace {

template <typename T>
std::string KeyBytes(const T& key) {
  std::string bytes;
  KeyCodec<T>::Append(key, bytes);
  return bytes;
}

// Two words as bytes.
std::string BytesOf(const ShortKey& key) {
  const std::uint64_t words[2] = {key.word0(), key.word1()};
  std::string bytes(sizeof words, '\0');
  std::memcpy(bytes.data(), words, sizeof words);
  // Zeros behind the last one.
  RC_ASSERT(bytes.find_first_not_of('\0', key.bytes()) == std::string::npos);
  bytes.resize(key.bytes());
  return bytes;
}

RC_GTEST_PROP(CodecProperty, ShortKeysAreTheirBytes, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(0, ShortKey::kBytesMax + 1);
  // Of exactly this size, so that whoever reads more is found out.
  const auto text = *rc::gen::container<std::vector<char>>(size, rc::gen::arbitrary<char>());
  const std::string_view view(text.data(), text.size());
  ShortKey key(view);
  RC_ASSERT(BytesOf(key) == view);
  if (size == ShortKey::kBytesMax) return;
  const auto more =
      *rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(8, ShortKey::kBytesMax - size) + 1);
  const std::uint64_t kept = *rc::gen::arbitrary<std::uint64_t>() >> (64 - 8 * more);
  key.Append(kept, static_cast<std::uint32_t>(more));
  std::string expected(view);
  for (std::size_t i = 0; i < more; ++i) expected.push_back(static_cast<char>(kept >> (8 * i)));
  RC_ASSERT(BytesOf(key) == expected);
}

// Comes back whole, leaves what follows, refuses every shorter input.
template <typename T>
void CheckRoundTrip(const T& key) {
  const std::string bytes = KeyBytes(key);
  std::string followed = bytes + "rest";
  std::string_view in = followed;
  T back{};
  RC_ASSERT(KeyCodec<T>::Take(in, back));
  RC_ASSERT(back == key);
  RC_ASSERT(in == "rest");
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    std::string_view shorter = std::string_view(bytes).substr(0, cut);
    RC_ASSERT(!KeyCodec<T>::Take(shorter, back));
  }
}

template <typename T>
void CheckKeys() {
  const T a = *rc::gen::arbitrary<T>();
  const T b = *rc::gen::arbitrary<T>();
  CheckRoundTrip(a);
  RC_ASSERT((a < b) == (KeyBytes(a) < KeyBytes(b)));
}

RC_GTEST_PROP(KeyCodecProperty, Int8, ()) { CheckKeys<std::int8_t>(); }
RC_GTEST_PROP(KeyCodecProperty, Int64, ()) { CheckKeys<std::int64_t>(); }
RC_GTEST_PROP(KeyCodecProperty, Unsigned32, ()) { CheckKeys<std::uint32_t>(); }
RC_GTEST_PROP(KeyCodecProperty, Double, ()) { CheckKeys<double>(); }
RC_GTEST_PROP(KeyCodecProperty, Tuples, ()) {
  CheckKeys<std::tuple<std::int32_t, std::string, std::string>>();
}
RC_GTEST_PROP(KeyCodecProperty, StringsWithNul, ()) {
  const auto text = rc::gen::container<std::string>(rc::gen::element('\0', '\1', '\xff', 'a'));
  const std::tuple<std::string, std::string> a(*text, *text), b(*text, *text);
  CheckRoundTrip(a);
  RC_ASSERT((a < b) == (KeyBytes(a) < KeyBytes(b)));
}

TEST(KeyCodec, InfinitiesAreAtTheEnds) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_LT(KeyBytes(-infinity), KeyBytes(-1e300));
  EXPECT_LT(KeyBytes(-1e-300), KeyBytes(0.0));
  EXPECT_LT(KeyBytes(1e300), KeyBytes(infinity));
}

// Through the form in which the engine passes keys.
template <typename Key>
void CheckView(const Key& key) {
  const KeyView<Key> given = key;
  std::string scratch;
  const std::string bytes(KeyForm<Key>::Bytes(given, scratch));
  RC_ASSERT(bytes == KeyBytes(key));
  typename KeyForm<Key>::Held held{};
  // Twice, as a caller that reads one key after the other.
  for (int i = 0; i < 2; ++i) {
    RC_ASSERT(KeyForm<Key>::Read(bytes, held));
    RC_ASSERT(KeyForm<Key>::Of(held) == given);
  }
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    RC_ASSERT(!KeyForm<Key>::Read(std::string_view(bytes).substr(0, cut), held));
  }
  RC_ASSERT(!KeyForm<Key>::Read(bytes + "x", held));
}

RC_GTEST_PROP(KeyForm, PassesStringsOfTuplesAsViews, ()) {
  CheckView(*rc::gen::arbitrary<std::tuple<std::int32_t, std::string, std::string>>());
  const auto text = rc::gen::container<std::string>(rc::gen::element('\0', '\1', '\xff', 'a'));
  CheckView(std::tuple<std::string, std::string, std::int64_t>(
      *text, *text, *rc::gen::arbitrary<std::int64_t>()));
  using Inner = std::tuple<std::string, std::int8_t>;
  CheckView(std::tuple<Inner, std::string>(Inner(*text, 7), *text));
}

TEST(KeyForm, ViewsPointIntoTheBytesUnlessTheyHoldNul) {
  using Key = std::tuple<std::string, std::string>;
  static_assert(std::is_same_v<KeyView<Key>, std::tuple<std::string_view, std::string_view>>);
  static_assert(std::is_same_v<KeyView<std::tuple<int, double>>, std::tuple<int, double>>);
  const std::string bytes = KeyBytes(Key("a string that is not short", std::string("b\0c", 3)));
  KeyForm<Key>::Held held;
  ASSERT_TRUE(KeyForm<Key>::Read(bytes, held));
  const auto [plain, escaped] = KeyForm<Key>::Of(held);
  EXPECT_EQ(plain.data(), bytes.data());
  EXPECT_EQ(escaped, std::string_view("b\0c", 3));
  EXPECT_EQ(escaped.data(), held.unescaped.data());
}

struct Point {
  std::int32_t x = 0;
  std::int32_t y = 0;
  bool operator==(const Point&) const = default;
};

template <typename T>
void CheckValue(const T& value) {
  std::string bytes;
  ValueCodec<T>::Append(value, bytes);
  const std::string whole = bytes + "z";
  std::string_view in = whole;
  T back{};
  RC_ASSERT(ValueCodec<T>::Take(in, back));
  RC_ASSERT(back == value);
  RC_ASSERT(in == "z");
  std::string_view shorter = std::string_view(bytes).substr(0, bytes.size() - 1);
  RC_ASSERT(!ValueCodec<T>::Take(shorter, back));
}

RC_GTEST_PROP(ValueCodecProperty, RoundTrips, ()) {
  CheckValue(*rc::gen::arbitrary<std::int64_t>());
  CheckValue(*rc::gen::arbitrary<float>());
  CheckValue(*rc::gen::arbitrary<std::string>());
  CheckValue(Point{*rc::gen::arbitrary<int>(), *rc::gen::arbitrary<int>()});
  CheckValue(*rc::gen::arbitrary<std::tuple<int, std::string, double>>());
}

TEST(KeyCodec, StructsAreTheirMemory) {
  std::string bytes = KeyBytes(Point{1, 2});
  std::string_view in = bytes;
  Point back;
  ASSERT_TRUE(KeyCodec<Point>::Take(in, back));
  EXPECT_EQ(back, (Point{1, 2}));
}

}  // namespace
}  // namespace weir
