#include "jobs/engine/input/fixed_blocks.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"

namespace weir {
namespace {
constexpr std::int64_t kChunkBytes = 256 << 10;
}  // namespace

FixedBlocks::FixedBlocks(std::int64_t record_bytes, const InputRange& range,
                         std::int64_t decoder_bytes_max)
    : record_bytes_(record_bytes),
      text_(range, decoder_bytes_max),
      position_((text_.begin() + record_bytes - 1) / record_bytes * record_bytes) {}

absl::StatusOr<bool> FixedBlocks::Next(TextBlock& block) {
  if (position_ >= text_.end()) return false;
  if (!started_) {
    started_ = true;
    if (absl::Status status = text_.Open(InputAccess::kInPlace, '\0'); !status.ok()) return status;
  }
  const absl::StatusOr<std::string_view> window = text_.InPlace(position_);
  if (!window.ok()) return window.status();
  const std::int64_t wanted = (text_.end() - position_ - 1) / record_bytes_ + 1;
  const std::int64_t in_place =
      std::min(std::ssize(*window) / record_bytes_, wanted) * record_bytes_;
  if (in_place > 0) {
    block = {window->data(), in_place, position_, &text_.path(), keep_};
    position_ += in_place;
    return true;
  }
  const std::int64_t whole = (text_.text_bytes() - position_) / record_bytes_;
  const std::int64_t at_once = std::max<std::int64_t>(1, kChunkBytes / record_bytes_);
  const std::int64_t bytes = std::min({wanted, whole, at_once}) * record_bytes_;
  if (bytes == 0) return PartOfARecord();
  buffer_.resize(static_cast<std::size_t>(bytes + kBlockSlackBytes));
  const absl::StatusOr<std::int64_t> got = text_.Read(position_, buffer_.data(), bytes);
  if (!got.ok()) return got.status();
  const std::int64_t given = *got / record_bytes_ * record_bytes_;
  rest_.assign(buffer_.data() + given, static_cast<std::size_t>(*got - given));
  if (given == 0 && !rest_.empty()) return PartOfARecord();
  block = {buffer_.data(), given, position_, &text_.path()};
  position_ += given;
  if (position_ >= text_.end()) {
    if (absl::Status status = text_.CheckDone(); !status.ok()) return status;
  }
  return given > 0;
}

absl::Status FixedBlocks::PartOfARecord() {
  const std::int64_t left = text_.text_bytes() - position_;
  if (rest_.empty()) {
    rest_.resize(static_cast<std::size_t>(std::min(left, kBadRecordShownBytesMax)));
    const auto read = text_.Read(position_, rest_.data(), static_cast<std::int64_t>(rest_.size()));
    if (!read.ok()) return read.status();
  }
  BadRecord record = MakeBadRecord(
      text_.path(), position_, rest_,
      absl::StrCat("the file ends after ", left, " of the ", record_bytes_, " bytes of a record"));
  record.can_be_left_out = false;
  return BadRecordError(record);
}

std::int64_t FixedBlocks::TakeProgressBytes() {
  return text_.TakeProgressBytes(position_, position_ >= text_.end());
}

}  // namespace weir
