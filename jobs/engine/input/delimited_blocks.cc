#include "jobs/engine/input/delimited_blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"

namespace weir {

DelimitedBlocks::DelimitedBlocks(const Delimiters& delimiters, const InputRange& range,
                                 InputAccess access, std::int64_t decoder_bytes_max)
    : delimiters_(delimiters), text_(range, decoder_bytes_max), access_(access) {}

absl::StatusOr<bool> DelimitedBlocks::Next(TextBlock& block) {
  if (!started_) {
    started_ = true;
    if (absl::Status status = Start(); !status.ok()) return status;
  }
  if (done_) return false;
  if (const auto in_place = NextInPlace(block); !in_place.ok() || *in_place) return in_place;
  // What is left of the last block is the beginning of the next record.
  filled_ -= given_;
  searched_ = std::max<std::int64_t>(searched_ - given_, 0);
  if (filled_ > 0 && given_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + given_, static_cast<std::size_t>(filled_));
  }
  buffer_offset_ += std::exchange(given_, 0);
  while (true) {
    if (const std::int64_t usable = EndOfLastRecord(); usable > 0) {
      // Where it ends within the chunk that was read last; only the first one can be so long.
      if (usable - 1 > kRecordBytesMax && FindDelimiter(0) - 1 > kRecordBytesMax) {
        return RecordTooLong();
      }
      return Give(usable, block);
    }
    if (filled_ > kRecordBytesMax) return RecordTooLong();
    const std::int64_t position = buffer_offset_ + filled_;
    if (position >= text_.end()) {
      if (absl::Status status = FinishLastRecord(); !status.ok()) return status;
      done_ = true;
      if (absl::Status status = text_.CheckDone(); !status.ok()) return status;
      return Give(filled_, block);
    }
    absl::Status status = ReadMore(std::min(kChunkBytes, text_.end() - position));
    if (!status.ok()) return status;
  }
}

// False at the end of the range, whose last record has to be finished, and for a record longer than
// a window.
absl::StatusOr<bool> DelimitedBlocks::NextInPlace(TextBlock& block) {
  const std::int64_t begin = buffer_offset_ + given_;
  const absl::StatusOr<std::string_view> window = text_.InPlace(begin);
  if (!window.ok()) return window.status();
  const std::int64_t usable = BehindLastDelimiter(*window, 0);
  if (usable == 0) return false;
  buffer_offset_ = begin;
  filled_ = given_ = usable;
  searched_ = 0;
  first_record_due_ = false;
  block = {window->data(), usable, begin, &text_.path()};
  return true;
}

std::int64_t DelimitedBlocks::TakeProgressBytes() {
  return text_.TakeProgressBytes(buffer_offset_ + given_, done_);
}

// Leaves the buffer at the first record of the range.
absl::Status DelimitedBlocks::Start() {
  if (text_.begin() >= text_.end()) {
    done_ = true;
    return absl::OkStatus();
  }
  if (absl::Status status = text_.Open(access_, delimiters_.terminator()); !status.ok())
    return status;
  buffer_offset_ = text_.begin();
  if (text_.begin() == 0) return SkipByteOrderMark();
  --buffer_offset_;
  while (true) {
    const std::int64_t left = text_.end() - buffer_offset_;
    if (absl::Status status = ReadMore(std::min(kChunkBytes, left)); !status.ok()) return status;
    given_ = FindDelimiter(0);
    if (given_ <= filled_) break;  // the first record begins behind this delimiter
    buffer_offset_ += filled_;
    filled_ = 0;
    if (buffer_offset_ >= text_.end()) break;
  }
  if (given_ > filled_ || buffer_offset_ + given_ >= text_.end()) {
    done_ = true;
    given_ = 0;
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

// Spreadsheets put one before their text; it would become a part of the first key.
absl::Status DelimitedBlocks::SkipByteOrderMark() {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  const auto mark_bytes = static_cast<std::int64_t>(kMark.size());
  absl::Status status =
      ReadMore(std::min(std::max(kChunkBytes, mark_bytes), std::max(text_.end(), mark_bytes)));
  if (!status.ok()) return status;
  if (!std::string_view(buffer_.data(), static_cast<std::size_t>(filled_)).starts_with(kMark)) {
    filled_ = std::min(filled_, text_.end());
    return absl::OkStatus();
  }
  given_ = mark_bytes;
  first_record_due_ = true;
  return absl::OkStatus();
}

absl::Status DelimitedBlocks::ReadMore(std::int64_t bytes) {
  const std::int64_t room = filled_ + bytes + kBlockSlackBytes;
  if (room > static_cast<std::int64_t>(buffer_.size())) {
    buffer_.resize(static_cast<std::size_t>(std::max(room, filled_ * 2)));
  }
  const absl::StatusOr<std::int64_t> got =
      text_.Read(buffer_offset_ + filled_, buffer_.data() + filled_, bytes);
  if (!got.ok()) return got.status();
  filled_ += *got;
  return absl::OkStatus();
}

// Reads up to the delimiter that ends the record which covers the last byte of the range.
absl::Status DelimitedBlocks::FinishLastRecord() {
  if (filled_ == 0 && !first_record_due_) return absl::OkStatus();
  std::int64_t step_bytes = kBehindBytes;
  while (true) {
    const std::int64_t before = filled_;
    const std::int64_t left = text_.text_bytes() - buffer_offset_ - filled_;
    if (left == 0) {
      if (filled_ == 0) return absl::OkStatus();
      buffer_[static_cast<std::size_t>(filled_)] = delimiters_.terminator();
      ++filled_;
      return absl::OkStatus();
    }
    if (absl::Status status = ReadMore(std::min(step_bytes, left)); !status.ok()) return status;
    step_bytes = std::min(2 * step_bytes, kChunkBytes);
    if (const std::int64_t end = FindDelimiter(before); end <= filled_) {
      filled_ = end;
      return end - 1 > kRecordBytesMax ? RecordTooLong() : absl::OkStatus();
    }
    if (filled_ > kRecordBytesMax) return RecordTooLong();
  }
}

absl::Status DelimitedBlocks::RecordTooLong() const {
  BadRecord record = MakeBadRecord(
      text_.path(), buffer_offset_, {buffer_.data(), static_cast<std::size_t>(filled_)},
      absl::StrCat("longer than the limit of ", kRecordBytesMax, " bytes for one record"));
  record.can_be_left_out = false;
  return BadRecordError(record);
}

// Returns the index behind the first delimiter from `from`; more than filled_ when there is none.
std::int64_t DelimitedBlocks::FindDelimiter(std::int64_t from) const {
  const char* begin = buffer_.data();
  return std::find_if(begin + from, begin + filled_, delimiters_) - begin + 1;
}

// Returns the index behind the last delimiter that was not looked at yet; 0 when there is none.
std::int64_t DelimitedBlocks::EndOfLastRecord() {
  const std::int64_t from = std::exchange(searched_, filled_);
  return BehindLastDelimiter({buffer_.data(), static_cast<std::size_t>(filled_)}, from);
}

// Returns the index behind the last delimiter of text[from ..]; 0 when there is none.
std::int64_t DelimitedBlocks::BehindLastDelimiter(std::string_view text, std::int64_t from) const {
  auto end = static_cast<std::int64_t>(text.size());
  while (end > from && !delimiters_(text[static_cast<std::size_t>(end - 1)])) --end;
  return end > from ? end : 0;
}

bool DelimitedBlocks::Give(std::int64_t usable, TextBlock& block) {
  given_ = usable;
  first_record_due_ = false;
  block = {buffer_.data(), usable, buffer_offset_, &text_.path()};
  return usable > 0;
}

}  // namespace weir
