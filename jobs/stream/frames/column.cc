#include "jobs/stream/frames/column.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"

namespace weir::stream {
namespace {

absl::Status NoColumn(const char* what) { return absl::InvalidArgumentError(what); }

bool IsBool(ItemTag tag) { return tag == ItemTag::kFalse || tag == ItemTag::kTrue; }

// Lengths and the bytes that they add up to.
bool TakeLengths(std::string_view& in, std::uint32_t count, std::string_view& lengths,
                 std::string_view& all) {
  if (!TakeBytes(in, std::uint64_t{count} * sizeof(std::uint32_t), lengths)) return false;
  std::uint64_t total = 0;
  std::string_view left = lengths;
  for (std::uint32_t length = 0; TakeU32(left, length);) total += length;
  return TakeBytes(in, total, all);
}

void AppendKind(ColumnKind kind, std::string& out) { out.push_back(static_cast<char>(kind)); }

void AppendLengthsOf(const std::vector<ItemView>& items, ItemForm form, ColumnKind kind,
                     std::string& out) {
  AppendKind(kind, out);
  std::string contents;
  for (const ItemView& item : items) {
    const std::size_t before = contents.size();
    AppendContentOf(item, form, contents);
    AppendU32(static_cast<std::uint32_t>(contents.size() - before), out);
  }
  out.append(contents);
}

void AppendTexts(const std::vector<ItemView>& items, ItemForm form, std::string& out) {
  const bool nul = std::any_of(items.begin(), items.end(), [](const ItemView& item) {
    return !item.bytes.empty() &&
           std::memchr(item.bytes.data(), '\0', item.bytes.size()) != nullptr;
  });
  if (nul) return AppendLengthsOf(items, form, ColumnKind::kTextsLengths, out);
  AppendKind(ColumnKind::kTexts, out);
  std::uint64_t total = items.size();
  for (const ItemView& item : items) total += item.bytes.size();
  AppendU64(total, out);
  for (const ItemView& item : items) out.append(item.bytes).push_back('\0');
}

void AppendMixed(const std::vector<ItemView>& items, ItemForm form, std::string& out) {
  AppendKind(ColumnKind::kMixed, out);
  std::string plain;
  for (const ItemView& item : items) {
    const std::size_t before = plain.size();
    AppendItem(item, form, ItemForm::kPlain, plain);
    AppendU32(static_cast<std::uint32_t>(plain.size() - before), out);
  }
  out.append(plain);
}

void AppendViews(const std::vector<ItemView>& items, ItemForm form, std::string& out);

void AppendTuples(const std::vector<ItemView>& items, ItemForm form, std::string& out) {
  const std::uint32_t arity = items.front().arity;
  AppendKind(ColumnKind::kTuples, out);
  out.push_back(static_cast<char>(arity));
  std::vector<std::string_view> left;
  left.reserve(items.size());
  for (const ItemView& item : items) left.push_back(item.bytes);
  std::vector<ItemView> elements(items.size());
  for (std::uint32_t i = 0; i < arity; ++i) {
    for (std::size_t row = 0; row < items.size(); ++row) TakeItem(left[row], form, elements[row]);
    AppendViews(elements, form, out);
  }
}

bool AreAlike(const std::vector<ItemView>& items) {
  const ItemView& first = items.front();
  return std::all_of(items.begin(), items.end(), [&first](const ItemView& item) {
    return (item.tag == first.tag && item.arity == first.arity) ||
           (IsBool(item.tag) && IsBool(first.tag));
  });
}

void AppendViews(const std::vector<ItemView>& items, ItemForm form, std::string& out) {
  if (items.empty()) return AppendKind(ColumnKind::kNones, out);
  if (!AreAlike(items)) return AppendMixed(items, form, out);
  switch (items.front().tag) {
    case ItemTag::kNone:
      return AppendKind(ColumnKind::kNones, out);
    case ItemTag::kFalse:
    case ItemTag::kTrue:
      AppendKind(ColumnKind::kBools, out);
      for (const ItemView& item : items) out.push_back(item.tag == ItemTag::kTrue ? 1 : 0);
      return;
    case ItemTag::kInteger:
      AppendKind(ColumnKind::kIntegers, out);
      for (const ItemView& item : items) {
        AppendU64(static_cast<std::uint64_t>(IntegerOf(item, form)), out);
      }
      return;
    case ItemTag::kFloat:
      AppendKind(ColumnKind::kFloats, out);
      for (const ItemView& item : items) {
        const double value = FloatOf(item, form);
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        AppendU64(bits, out);
      }
      return;
    case ItemTag::kText:
      return AppendTexts(items, form, out);
    case ItemTag::kBytes:
      return AppendLengthsOf(items, form, ColumnKind::kBytesLengths, out);
    case ItemTag::kPickled:
      return AppendLengthsOf(items, form, ColumnKind::kPickledLengths, out);
    case ItemTag::kTuple: {
      constexpr std::uint32_t kArityMax = 255;  // a byte
      const std::uint32_t arity = items.front().arity;
      if (arity == 0 || arity > kArityMax) break;
      return AppendTuples(items, form, out);
    }
    default:
      break;
  }
  AppendMixed(items, form, out);
}

}  // namespace

absl::StatusOr<Column> Column::Take(std::string_view& in, std::uint32_t count) {
  return TakeAt(in, count, 0);
}

absl::StatusOr<Column> Column::TakeAt(std::string_view& in, std::uint32_t count, int depth) {
  if (in.empty() || depth > kTupleDepthMax) return NoColumn("a column is missing");
  Column column;
  column.kind_ = static_cast<ColumnKind>(in.front());
  in.remove_prefix(1);
  bool whole = false;
  switch (column.kind_) {
    case ColumnKind::kNones:
      whole = true;
      break;
    case ColumnKind::kBools:
      whole = TakeBytes(in, count, column.left_);
      break;
    case ColumnKind::kIntegers:
    case ColumnKind::kFloats:
      whole = TakeBytes(in, std::uint64_t{count} * 8, column.left_);
      break;
    case ColumnKind::kTexts: {
      std::uint64_t total = 0;
      whole = TakeU64(in, total) && TakeBytes(in, total, column.left_);
      break;
    }
    case ColumnKind::kTextsLengths:
    case ColumnKind::kBytesLengths:
    case ColumnKind::kPickledLengths:
    case ColumnKind::kMixed:
      whole = TakeLengths(in, count, column.lengths_, column.left_);
      break;
    case ColumnKind::kTuples: {
      std::string_view arity;
      if (!TakeBytes(in, 1, arity)) break;
      for (int i = 0; i < static_cast<unsigned char>(arity.front()); ++i) {
        absl::StatusOr<Column> element = TakeAt(in, count, depth + 1);
        if (!element.ok()) return element.status();
        column.elements_.push_back(*std::move(element));
      }
      whole = true;
      break;
    }
  }
  if (whole) return column;
  return NoColumn("a column is of no known kind, or shorter than it says");
}

bool Column::AppendNext(ItemForm form, std::string& out) {
  std::uint64_t bits = 0;
  std::string_view content;
  std::uint32_t length = 0;
  switch (kind_) {
    case ColumnKind::kNones:
      return AppendItem({ItemTag::kNone, {}, 0}, ItemForm::kPlain, form, out);
    case ColumnKind::kBools:
      if (!TakeBytes(left_, 1, content)) return false;
      out.push_back(static_cast<char>(content.front() != 0 ? ItemTag::kTrue : ItemTag::kFalse));
      return true;
    case ColumnKind::kIntegers:
      if (!TakeU64(left_, bits)) return false;
      AppendInteger(static_cast<std::int64_t>(bits), form, out);
      return true;
    case ColumnKind::kFloats: {
      if (!TakeU64(left_, bits)) return false;
      double value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return AppendFloat(value, form, out);
    }
    case ColumnKind::kTexts: {
      const void* end = left_.empty() ? nullptr : std::memchr(left_.data(), '\0', left_.size());
      if (end == nullptr) return false;
      const auto size = static_cast<std::size_t>(static_cast<const char*>(end) - left_.data());
      AppendContent(ItemTag::kText, left_.substr(0, size), form, out);
      left_.remove_prefix(size + 1);
      return true;
    }
    case ColumnKind::kTextsLengths:
    case ColumnKind::kBytesLengths:
    case ColumnKind::kPickledLengths: {
      if (!TakeU32(lengths_, length) || !TakeBytes(left_, length, content)) return false;
      if (kind_ == ColumnKind::kPickledLengths && form == ItemForm::kKey) return false;
      AppendContent(kind_ == ColumnKind::kTextsLengths   ? ItemTag::kText
                    : kind_ == ColumnKind::kBytesLengths ? ItemTag::kBytes
                                                         : ItemTag::kPickled,
                    content, form, out);
      return true;
    }
    case ColumnKind::kTuples: {
      out.push_back(static_cast<char>(ItemTag::kTuple));
      if (form == ItemForm::kPlain) AppendU32(static_cast<std::uint32_t>(elements_.size()), out);
      for (Column& element : elements_) {
        if (!element.AppendNext(form, out)) return false;
      }
      if (form == ItemForm::kKey) out.push_back(static_cast<char>(ItemTag::kTupleEnd));
      return true;
    }
    case ColumnKind::kMixed: {
      ItemView item;
      return TakeU32(lengths_, length) && TakeBytes(left_, length, content) &&
             TakeItem(content, ItemForm::kPlain, item) && content.empty() &&
             AppendItem(item, ItemForm::kPlain, form, out);
    }
  }
  return false;
}

bool AppendColumn(const std::vector<std::string_view>& items, ItemForm form, std::string& out) {
  std::vector<ItemView> views(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::string_view left = items[i];
    if (!TakeItem(left, form, views[i]) || !left.empty()) return false;
  }
  AppendViews(views, form, out);
  return true;
}

}  // namespace weir::stream
