#include "jobs/stream/frames/frame.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jobs/stream/frames/column.h"

namespace weir::stream {

void AppendFrameHead(FrameType type, std::size_t bytes, std::string& out) {
  out.push_back(static_cast<char>(type));
  AppendU32(static_cast<std::uint32_t>(bytes), out);
}

absl::Status FrameReader::Add(std::string_view bytes, const TakeFrame& take) {
  while (true) {
    // The head, and what is missing of the frame that was begun.
    if (!begun_.empty()) {
      const std::size_t head =
          std::min(bytes.size(), kFrameHeadBytes - std::min(kFrameHeadBytes, begun_.size()));
      begun_.append(bytes.substr(0, head));
      bytes.remove_prefix(head);
    }
    std::string_view whole = begun_.empty() ? bytes : std::string_view(begun_);
    if (whole.size() < kFrameHeadBytes) {
      if (begun_.empty()) begun_.assign(bytes);
      return absl::OkStatus();
    }
    const auto type = static_cast<FrameType>(whole.front());
    std::uint32_t size = 0;
    std::string_view head = whole.substr(1);
    TakeU32(head, size);
    constexpr std::string_view kTypes = "PRXD";
    if (kTypes.find(whole.front()) == std::string_view::npos) {
      return absl::InvalidArgumentError("it wrote something that is no frame");
    }
    if (size > kFrameBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "it wrote a frame of ", size, " bytes; at most ", kFrameBytesMax, " are allowed"));
    }
    const std::size_t all = kFrameHeadBytes + size;
    if (!begun_.empty()) {
      const std::size_t missing = std::min(bytes.size(), all - begun_.size());
      begun_.append(bytes.substr(0, missing));
      bytes.remove_prefix(missing);
      if (begun_.size() < all) return absl::OkStatus();
      const std::string frame = std::exchange(begun_, {});
      absl::Status taken = take(type, std::string_view(frame).substr(kFrameHeadBytes));
      if (!taken.ok()) return taken;
    } else {
      if (bytes.size() < all) {
        begun_.reserve(all);
        begun_.assign(bytes);
        return absl::OkStatus();
      }
      absl::Status taken = take(type, bytes.substr(kFrameHeadBytes, size));
      if (!taken.ok()) return taken;
      bytes.remove_prefix(all);
    }
    if (bytes.empty()) return absl::OkStatus();
  }
}

absl::Status ForEachFramedPair(
    std::string_view content,
    const std::function<absl::Status(std::string_view key, std::string_view value)>& take) {
  std::uint32_t count = 0;
  if (!TakeU32(content, count)) return absl::InvalidArgumentError("it wrote pairs without number");
  absl::StatusOr<Column> keys = Column::Take(content, count);
  if (!keys.ok()) return keys.status();
  absl::StatusOr<Column> values = Column::Take(content, count);
  if (!values.ok()) return values.status();
  std::string key, value;
  for (std::uint32_t i = 0; i < count; ++i) {
    key.clear();
    value.clear();
    if (!keys->AppendNext(ItemForm::kKey, key)) {
      return absl::InvalidArgumentError("it wrote a key that is none");
    }
    if (!values->AppendNext(ItemForm::kPlain, value)) {
      return absl::InvalidArgumentError("it wrote a value that is none");
    }
    if (absl::Status taken = take(key, value); !taken.ok()) return taken;
  }
  return absl::OkStatus();
}

void GroupFrame::Add(std::string_view key, std::string_view value) {
  const bool new_key = !any_ || key != last_key_;
  if (new_key || keys_.empty()) {
    if (values_.empty()) goes_on_ = !new_key;
    keys_.push_back(Keep(key));
    counts_.push_back(0);
    if (new_key) last_key_.assign(key);
    any_ = true;
  }
  ++counts_.back();
  values_.push_back(Keep(value));
}

GroupFrame::Place GroupFrame::Keep(std::string_view item) {
  const Place place{bytes_.size(), item.size()};
  bytes_.append(item);
  return place;
}

std::vector<std::string_view> GroupFrame::ViewsOf(const std::vector<Place>& places) const {
  std::vector<std::string_view> views;
  views.reserve(places.size());
  for (const Place& place : places) {
    views.push_back(std::string_view(bytes_).substr(place.begin, place.size));
  }
  return views;
}

bool GroupFrame::Take(std::string& out) {
  std::string content;
  content.push_back(goes_on_ ? 1 : 0);
  AppendU32(static_cast<std::uint32_t>(keys_.size()), content);
  AppendU32(static_cast<std::uint32_t>(values_.size()), content);
  bool good = AppendColumn(ViewsOf(keys_), ItemForm::kKey, content);
  for (const std::uint32_t count : counts_) AppendU32(count, content);
  good = good && AppendColumn(ViewsOf(values_), ItemForm::kPlain, content);
  bytes_.clear();
  keys_.clear();
  values_.clear();
  counts_.clear();
  if (!good) return false;
  AppendFrameHead(FrameType::kGroups, content.size(), out);
  out.append(content);
  return true;
}

}  // namespace weir::stream
