#include "jobs/engine/sections/section_blocks.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/sections/record_lengths.h"

namespace weir {
namespace {

constexpr std::size_t kLengthsBytesMax = 2 * kLengthBytesMax;
constexpr std::size_t kRecordRoomMax = kPairBytesMax + kLengthsBytesMax;

// Keys are refused where they are emitted; what is too long here has grown by Combine.
absl::Status TooLong(std::string_view key, std::size_t bytes) {
  constexpr std::size_t kShownMax = 200;
  return StepErrorStatus(
      absl::StatusCode::kResourceExhausted,
      {std::string(step_error::kUserError),
       absl::StrCat("key and value of a pair have ", bytes, " bytes, at most ", kPairBytesMax,
                    " are allowed; the key is '",
                    absl::CHexEscape(std::string(key.substr(0, kShownMax))), "'"),
       "keep less of each value, as a count, a sketch or the first ones, or divide such a key into "
       "several",
       ""});
}

char* CopyTo(char* out, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
}

absl::Status Malformed(std::string_view what) {
  return absl::DataLossError(absl::StrCat("section of a run is damaged: ", std::string(what)));
}

}  // namespace

absl::Status DamagedSection() { return Malformed("a key or value does not decode"); }

absl::Status SectionWriter::Begin(int consumer) {
  if (absl::Status status = Flush(); !status.ok()) return status;
  return sink_.BeginSection(consumer);
}

absl::Status SectionWriter::Add(std::string_view key, std::string_view value) {
  const std::size_t bytes = key.size() + value.size() + kLengthsBytesMax;
  if (bytes + 1 > kBlockFillBytes) {
    if (bytes > kRecordRoomMax) return TooLong(key, bytes - kLengthsBytesMax);
    std::string record;
    record.reserve(bytes);
    AppendLength(key.size(), record);
    AppendLength(value.size(), record);
    record.append(key);
    record.append(value);
    return AddEncoded(record);
  }
  if (absl::Status status = MakeRoom(bytes); !status.ok()) return status;
  char* const begin = block_.get() + block_bytes_;
  char* end = WriteLength(value.size(), WriteLength(key.size(), begin));
  end = CopyTo(end, key);
  end = CopyTo(end, value);
  block_bytes_ += static_cast<std::size_t>(end - begin);
  return absl::OkStatus();
}

absl::Status SectionWriter::AddEncoded(std::string_view record) {
  if (record.size() + 1 > kBlockFillBytes) return AddLong(record);
  if (absl::Status status = MakeRoom(record.size()); !status.ok()) return status;
  CopyTo(block_.get() + block_bytes_, record);
  block_bytes_ += record.size();
  return absl::OkStatus();
}

absl::Status SectionWriter::AddEncoded(std::string_view lengths, std::string_view key_and_value) {
  const std::size_t bytes = lengths.size() + key_and_value.size();
  if (bytes + 1 > kBlockFillBytes) return AddLong(std::string(lengths).append(key_and_value));
  if (absl::Status status = MakeRoom(bytes); !status.ok()) return status;
  char* const at = block_.get() + block_bytes_;
  constexpr std::size_t kShortLengths = 2;  // of most records: not worth a call
  if (lengths.size() == kShortLengths) {
    std::memcpy(at, lengths.data(), kShortLengths);
  } else {
    CopyTo(at, lengths);
  }
  CopyTo(at + lengths.size(), key_and_value);
  block_bytes_ += bytes;
  return absl::OkStatus();
}

absl::Status SectionWriter::MakeRoom(std::size_t bytes) {
  if (block_bytes_ + bytes > kBlockFillBytes) {
    if (absl::Status status = Flush(); !status.ok()) return status;
  }
  if (block_bytes_ == 0) block_[block_bytes_++] = static_cast<char>(BlockKind::kWholeRecords);
  ++block_records_;
  ++records_;
  return absl::OkStatus();
}

absl::Status SectionWriter::Flush() {
  if (block_bytes_ == 0) return absl::OkStatus();
  absl::Status status = sink_.Append({block_.get(), block_bytes_}, block_records_);
  block_bytes_ = 0;
  block_records_ = 0;
  return status;
}

absl::Status SectionWriter::AddLong(std::string_view record) {
  if (record.size() > kRecordRoomMax) {
    std::string_view key_and_value = record;
    std::size_t key_bytes = 0;
    std::size_t value_bytes = 0;
    TakeLength(key_and_value, key_bytes);
    TakeLength(key_and_value, value_bytes);
    return TooLong(key_and_value.substr(0, key_bytes), key_and_value.size());
  }
  if (absl::Status status = Flush(); !status.ok()) return status;
  ++records_;
  for (std::size_t at = 0; at < record.size();) {
    const std::size_t part = std::min(record.size() - at, kBlockFillBytes - 1);
    const bool last = at + part == record.size();
    std::string block(
        1, static_cast<char>(last ? BlockKind::kRecordLastPart : BlockKind::kRecordPart));
    block.append(record.substr(at, part));
    if (absl::Status status = sink_.Append(block, last ? 1 : 0); !status.ok()) return status;
    at += part;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> SectionReader::Next(SectionRecord& record) {
  if (left_.empty()) {
    const absl::StatusOr<bool> more = NextBlock();
    if (!more.ok() || !*more) return more;
  }
  std::size_t key_bytes = 0;
  std::size_t value_bytes = 0;
  if (!TakeLength(left_, key_bytes) || !TakeLength(left_, value_bytes) ||
      key_bytes > left_.size() || value_bytes > left_.size() - key_bytes) {
    return Malformed("a record is longer than its block");
  }
  record.key = left_.substr(0, key_bytes);
  record.value = left_.substr(key_bytes, value_bytes);
  left_.remove_prefix(key_bytes + value_bytes);
  return true;
}

absl::StatusOr<bool> SectionReader::NextBlock() {
  const absl::StatusOr<absl::Span<const char>> block = source_.NextBlock();
  if (!block.ok()) return block.status();
  if (block->empty()) return false;
  if (static_cast<BlockKind>(block->front()) != BlockKind::kWholeRecords) {
    if (absl::Status status = ReadParts(*block); !status.ok()) return status;
    left_ = long_record_;
  } else {
    left_ = {block->data() + 1, block->size() - 1};
  }
  if (left_.empty()) return Malformed("a block without records");
  return true;
}

absl::Status SectionReader::ReadParts(absl::Span<const char> part) {
  long_record_.clear();
  while (true) {
    const auto kind =
        part.empty() ? BlockKind::kWholeRecords : static_cast<BlockKind>(part.front());
    if (kind != BlockKind::kRecordPart && kind != BlockKind::kRecordLastPart) {
      return Malformed("a record breaks off");
    }
    long_record_.append(part.data() + 1, part.size() - 1);
    if (kind == BlockKind::kRecordLastPart) return absl::OkStatus();
    if (static_cast<std::int64_t>(long_record_.size()) > kRecordBytesMax * 2 + 16) {
      return Malformed("a record beyond the limit");
    }
    const absl::StatusOr<absl::Span<const char>> next = source_.NextBlock();
    if (!next.ok()) return next.status();
    part = *next;
  }
}

}  // namespace weir
