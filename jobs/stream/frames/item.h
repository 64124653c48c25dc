#pragma once

// One typed value as bytes: in a form whose order is that of keys, and in a plain one. Upstream:
// columns that a program wrote. Downstream: pairs of runs.

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::stream {

/// What an item is: its first byte. Keys of different types are ordered by it.
enum class ItemTag : char {
  kTupleEnd = 0,
  kNone = 1,  // no key
  kFalse = 2,
  kTrue = 3,
  kBigNegative = 4,  // an integer below those of 64 bits
  kInteger = 5,
  kBigPositive = 6,
  kFloat = 7,
  kText = 8,
  kBytes = 9,
  kTuple = 10,
  kPickled = 11,  // no key: bytes that only the program can read
};

/// `kKey`: items compare (memcmp) as what they stand for: integers of any size and floating-point
/// numbers by value, texts by code points, bytes by byte, tuples by their first element that
/// differs, a shorter one first. `kPlain`: lengths in front; on pipes, and for values in runs.
enum class ItemForm { kKey, kPlain };

/// Tuples lie in one another at most so deep.
inline constexpr int kTupleDepthMax = 32;

/// An item, taken apart. `bytes`: what lies behind the tag: 8 bytes of a number, magnitude of a
/// larger one, content of texts (escaped in keys), all elements of a tuple.
struct ItemView {
  ItemTag tag = ItemTag::kNone;
  std::string_view bytes;
  /// Elements of a tuple; 0 for all others.
  std::uint32_t arity = 0;
};

/// Takes one whole item, all the way down, from the front of `in`; false where there is none.
/// Checked by: tests/unit/jobs/stream/frames_test.cc.
bool TakeItem(std::string_view& in, ItemForm form, ItemView& item);

/// Appends the item in the other form (or the same). Requires: TakeItem gave it.
/// Returns: false where it may be no key: None, something pickled, a NaN, or a tuple with such.
bool AppendItem(const ItemView& item, ItemForm from, ItemForm to, std::string& out);

// Pieces of an item in a form, for columns, which know the type of all their items.
/// False for a NaN that is to be a key. -0.0 becomes 0.0 there: Python finds them equal.
bool AppendFloat(double value, ItemForm form, std::string& out);
void AppendInteger(std::int64_t value, ItemForm form, std::string& out);
/// `tag`: kText, kBytes or kPickled.
void AppendContent(ItemTag tag, std::string_view content, ItemForm form, std::string& out);

/// Numbers back from the `bytes` of an item.
std::int64_t IntegerOf(const ItemView& item, ItemForm form);
double FloatOf(const ItemView& item, ItemForm form);
/// Appends the content of a text, bytes or pickled item.
void AppendContentOf(const ItemView& item, ItemForm form, std::string& out);

/// Little-endian numbers of frames.
void AppendU32(std::uint32_t number, std::string& out);
void AppendU64(std::uint64_t number, std::string& out);
bool TakeU32(std::string_view& in, std::uint32_t& number);
bool TakeU64(std::string_view& in, std::uint64_t& number);
bool TakeBytes(std::string_view& in, std::uint64_t count, std::string_view& bytes);

}  // namespace weir::stream
