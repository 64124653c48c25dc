#include "jobs/api/fixed_blocks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"

namespace weir {
namespace {
constexpr std::int64_t kChunkBytes = 256 << 10;
}  // namespace

FixedBlocks::FixedBlocks(std::int64_t record_bytes, const InputRange& range)
    : record_bytes_(record_bytes),
      range_(range),
      position_((range.begin + record_bytes - 1) / record_bytes * record_bytes),
      reported_(range.begin) {}

absl::StatusOr<bool> FixedBlocks::Next(TextBlock& block) {
  if (position_ >= range_.end) return false;
  if (!started_) {
    started_ = true;
    if (absl::Status status = file_.Open(range_); !status.ok()) return status;
  }
  const std::int64_t wanted = (range_.end - position_ + record_bytes_ - 1) / record_bytes_;
  const std::int64_t whole = (range_.file_bytes - position_) / record_bytes_;
  const std::int64_t at_once = std::max<std::int64_t>(1, kChunkBytes / record_bytes_);
  const std::int64_t bytes = std::min({wanted, whole, at_once}) * record_bytes_;
  if (bytes == 0) {
    const std::int64_t left = range_.file_bytes - position_;
    std::string rest(static_cast<std::size_t>(std::min(left, kBadRecordShownBytesMax)), '\0');
    absl::Status status =
        file_.Read(position_, rest.data(), static_cast<std::int64_t>(rest.size()));
    if (!status.ok()) return status;
    return BadRecordError(MakeBadRecord(file_.path(), position_, rest,
                                        absl::StrCat("the file ends after ", left, " of the ",
                                                     record_bytes_, " bytes of a record")));
  }
  buffer_.resize(static_cast<std::size_t>(bytes + kBlockSlackBytes));
  if (absl::Status status = file_.Read(position_, buffer_.data(), bytes); !status.ok()) {
    return status;
  }
  block = {buffer_.data(), bytes, position_, &file_.path()};
  position_ += bytes;
  if (position_ >= range_.end) {
    if (absl::Status status = file_.CheckUnchanged(); !status.ok()) return status;
  }
  return true;
}

std::int64_t FixedBlocks::TakeProgressBytes() {
  const std::int64_t position = std::clamp(position_, range_.begin, range_.end);
  return position - std::exchange(reported_, position);
}

}  // namespace weir
