#include "jobs/stream/frames/item.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "jobs/api/key_codec.h"

namespace weir::stream {
namespace {

constexpr std::uint32_t kTupleArityMax = 1 << 20;

void AppendTag(ItemTag tag, std::string& out) { out.push_back(static_cast<char>(tag)); }

template <typename Number>
void AppendLittle(Number number, std::string& out) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

template <typename Number>
bool TakeLittle(std::string_view& in, Number& number) {
  if (in.size() < sizeof number) return false;
  std::memcpy(&number, in.data(), sizeof number);
  in.remove_prefix(sizeof number);
  return true;
}

// Content of keys: NUL is NUL 0xff, the end NUL NUL.
void AppendEscaped(std::string_view content, std::string& out) {
  while (!content.empty()) {
    const void* found = std::memchr(content.data(), '\0', content.size());
    if (found == nullptr) break;
    const auto before = static_cast<std::size_t>(static_cast<const char*>(found) - content.data());
    out.append(content.substr(0, before + 1)).push_back('\xff');
    content.remove_prefix(before + 1);
  }
  out.append(content).append(2, '\0');
}

bool TakeEscaped(std::string_view& in, std::string_view& escaped) {
  for (std::size_t at = 0; at + 1 < in.size(); at += 2) {
    const void* found = std::memchr(in.data() + at, '\0', in.size() - at);
    if (found == nullptr) return false;
    at = static_cast<std::size_t>(static_cast<const char*>(found) - in.data());
    if (at + 1 >= in.size()) return false;
    if (in[at + 1] == '\0') {
      escaped = in.substr(0, at);
      in.remove_prefix(at + 2);
      return true;
    }
    if (in[at + 1] != '\xff') return false;
  }
  return false;
}

// Integers beyond 64 bits: length, magnitude from the highest byte on. In keys of negative ones
// both are turned over, so that the larger magnitude comes first.
std::string TurnedOver(std::string_view bytes) {
  std::string turned(bytes);
  for (char& c : turned) c = static_cast<char>(~c);
  return turned;
}

void AppendBig(ItemTag tag, std::string_view magnitude, ItemForm form, std::string& out) {
  AppendTag(tag, out);
  if (form == ItemForm::kPlain) {
    AppendU32(static_cast<std::uint32_t>(magnitude.size()), out);
    out.append(magnitude);
    return;
  }
  std::string ordered;
  KeyCodec<std::uint32_t>::Append(static_cast<std::uint32_t>(magnitude.size()), ordered);
  ordered.append(magnitude);
  out.append(tag == ItemTag::kBigNegative ? TurnedOver(ordered) : ordered);
}

bool TakeBig(ItemTag tag, std::string_view& in, ItemForm form, std::string_view& magnitude) {
  std::uint32_t size = 0;
  if (form == ItemForm::kPlain) {
    if (!TakeU32(in, size)) return false;
  } else {
    if (in.size() < sizeof size) return false;
    const std::string head = tag == ItemTag::kBigNegative ? TurnedOver(in.substr(0, sizeof size))
                                                          : std::string(in.substr(0, sizeof size));
    std::string_view left = head;
    KeyCodec<std::uint32_t>::Take(left, size);
    in.remove_prefix(sizeof size);
  }
  return TakeBytes(in, size, magnitude);
}

// The view keeps what lies between tag and end, so elements can be taken from it one by one.
bool TakeItemAt(std::string_view& in, ItemForm form, int depth, ItemView& item) {
  if (in.empty() || depth > kTupleDepthMax) return false;
  item.tag = static_cast<ItemTag>(in.front());
  item.arity = 0;
  item.bytes = {};
  in.remove_prefix(1);
  switch (item.tag) {
    case ItemTag::kNone:
      return form == ItemForm::kPlain;
    case ItemTag::kFalse:
    case ItemTag::kTrue:
      return true;
    case ItemTag::kInteger:
    case ItemTag::kFloat:
      return TakeBytes(in, 8, item.bytes);
    case ItemTag::kBigNegative:
    case ItemTag::kBigPositive:
      return TakeBig(item.tag, in, form, item.bytes);
    case ItemTag::kPickled:
      if (form == ItemForm::kKey) return false;
      [[fallthrough]];
    case ItemTag::kText:
    case ItemTag::kBytes: {
      if (form == ItemForm::kKey) return TakeEscaped(in, item.bytes);
      std::uint32_t size = 0;
      return TakeU32(in, size) && TakeBytes(in, size, item.bytes);
    }
    case ItemTag::kTuple: {
      std::uint32_t arity = kTupleArityMax;
      if (form == ItemForm::kPlain && (!TakeU32(in, arity) || arity > kTupleArityMax)) return false;
      const char* const begin = in.data();
      ItemView element;
      while (item.arity < arity) {
        if (form == ItemForm::kKey && !in.empty() &&
            static_cast<ItemTag>(in.front()) == ItemTag::kTupleEnd) {
          break;
        }
        if (!TakeItemAt(in, form, depth + 1, element)) return false;
        ++item.arity;
      }
      item.bytes = {begin, static_cast<std::size_t>(in.data() - begin)};
      std::string_view end;
      return form == ItemForm::kPlain || (TakeBytes(in, 1, end) && end.front() == '\0');
    }
    case ItemTag::kTupleEnd:
      return false;
  }
  return false;
}

}  // namespace

void AppendU32(std::uint32_t number, std::string& out) { AppendLittle(number, out); }
void AppendU64(std::uint64_t number, std::string& out) { AppendLittle(number, out); }
bool TakeU32(std::string_view& in, std::uint32_t& number) { return TakeLittle(in, number); }
bool TakeU64(std::string_view& in, std::uint64_t& number) { return TakeLittle(in, number); }

bool TakeBytes(std::string_view& in, std::uint64_t count, std::string_view& bytes) {
  if (count > in.size()) return false;
  bytes = in.substr(0, static_cast<std::size_t>(count));
  in.remove_prefix(static_cast<std::size_t>(count));
  return true;
}

bool TakeItem(std::string_view& in, ItemForm form, ItemView& item) {
  return TakeItemAt(in, form, 0, item);
}

bool AppendFloat(double value, ItemForm form, std::string& out) {
  if (form == ItemForm::kKey && std::isnan(value)) return false;
  AppendTag(ItemTag::kFloat, out);
  if (form == ItemForm::kKey) {
    KeyCodec<double>::Append(value == 0 ? 0.0 : value, out);
  } else {
    AppendLittle(value, out);
  }
  return true;
}

void AppendInteger(std::int64_t value, ItemForm form, std::string& out) {
  AppendTag(ItemTag::kInteger, out);
  if (form == ItemForm::kKey) {
    KeyCodec<std::int64_t>::Append(value, out);
  } else {
    AppendLittle(value, out);
  }
}

void AppendContent(ItemTag tag, std::string_view content, ItemForm form, std::string& out) {
  AppendTag(tag, out);
  if (form == ItemForm::kKey) return AppendEscaped(content, out);
  AppendU32(static_cast<std::uint32_t>(content.size()), out);
  out.append(content);
}

std::int64_t IntegerOf(const ItemView& item, ItemForm form) {
  std::int64_t value = 0;
  std::string_view bytes = item.bytes;
  if (form == ItemForm::kKey) {
    KeyCodec<std::int64_t>::Take(bytes, value);
  } else {
    TakeLittle(bytes, value);
  }
  return value;
}

double FloatOf(const ItemView& item, ItemForm form) {
  double value = 0;
  std::string_view bytes = item.bytes;
  if (form == ItemForm::kKey) {
    KeyCodec<double>::Take(bytes, value);
  } else {
    TakeLittle(bytes, value);
  }
  return value;
}

void AppendContentOf(const ItemView& item, ItemForm form, std::string& out) {
  std::string_view left = item.bytes;
  while (form == ItemForm::kKey && !left.empty()) {
    const void* found = std::memchr(left.data(), '\0', left.size());
    if (found == nullptr) break;
    const auto before = static_cast<std::size_t>(static_cast<const char*>(found) - left.data());
    out.append(left.substr(0, before + 1));
    left.remove_prefix(before + 2);  // with its 0xff
  }
  out.append(left);
}

bool AppendItem(const ItemView& item, ItemForm from, ItemForm to, std::string& out) {
  switch (item.tag) {
    case ItemTag::kNone:
      if (to == ItemForm::kKey) return false;
      [[fallthrough]];
    case ItemTag::kFalse:
    case ItemTag::kTrue:
      AppendTag(item.tag, out);
      return true;
    case ItemTag::kInteger:
      AppendInteger(IntegerOf(item, from), to, out);
      return true;
    case ItemTag::kFloat:
      return AppendFloat(FloatOf(item, from), to, out);
    case ItemTag::kBigNegative:
    case ItemTag::kBigPositive: {
      const bool turn = item.tag == ItemTag::kBigNegative && from == ItemForm::kKey;
      AppendBig(item.tag, turn ? TurnedOver(item.bytes) : std::string(item.bytes), to, out);
      return true;
    }
    case ItemTag::kPickled:
      if (to == ItemForm::kKey) return false;
      [[fallthrough]];
    case ItemTag::kText:
    case ItemTag::kBytes:
      if (from == ItemForm::kPlain) {
        AppendContent(item.tag, item.bytes, to, out);
      } else {
        std::string content;
        AppendContentOf(item, from, content);
        AppendContent(item.tag, content, to, out);
      }
      return true;
    case ItemTag::kTuple: {
      AppendTag(ItemTag::kTuple, out);
      if (to == ItemForm::kPlain) AppendU32(item.arity, out);
      std::string_view left = item.bytes;
      ItemView element;
      for (std::uint32_t i = 0; i < item.arity; ++i) {
        if (!TakeItem(left, from, element) || !AppendItem(element, from, to, out)) return false;
      }
      if (to == ItemForm::kKey) AppendTag(ItemTag::kTupleEnd, out);
      return true;
    }
    case ItemTag::kTupleEnd:
      return false;
  }
  return false;
}

}  // namespace weir::stream
