#include "jobs/api/section_blocks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"

namespace weir {
namespace {

// Two lengths of at most five bytes each.
constexpr std::size_t kLengthsBytesMax = 10;

void AppendLength(std::size_t length, std::string& out) {
  while (length >= 0x80) {
    out.push_back(static_cast<char>(length | 0x80));
    length >>= 7;
  }
  out.push_back(static_cast<char>(length));
}

bool TakeLength(std::string_view& in, std::size_t& length) {
  length = 0;
  for (int shift = 0; shift < 35 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    length |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

absl::Status Malformed(std::string_view what) {
  return absl::DataLossError(absl::StrCat("section of a run is damaged: ", std::string(what)));
}

}  // namespace

absl::Status SectionWriter::Begin(int consumer) {
  if (absl::Status status = Flush(); !status.ok()) return status;
  return sink_.BeginSection(consumer);
}

absl::Status SectionWriter::Add(std::string_view key, std::string_view value) {
  const std::size_t bytes = key.size() + value.size() + kLengthsBytesMax;
  ++records_;
  if (block_.size() + bytes > kFillBytes) {
    if (absl::Status status = Flush(); !status.ok()) return status;
    if (bytes + 1 > kFillBytes) return AddLong(key, value);
  }
  if (block_.empty()) block_.push_back(static_cast<char>(BlockKind::kWholeRecords));
  AppendLength(key.size(), block_);
  AppendLength(value.size(), block_);
  block_.append(key);
  block_.append(value);
  ++block_records_;
  return absl::OkStatus();
}

absl::Status SectionWriter::Flush() {
  if (block_.empty()) return absl::OkStatus();
  absl::Status status = sink_.Append(block_, block_records_);
  block_.clear();
  block_records_ = 0;
  return status;
}

absl::Status SectionWriter::AddLong(std::string_view key, std::string_view value) {
  if (static_cast<std::int64_t>(key.size() + value.size()) > kRecordBytesMax * 2) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a pair of ", key.size(), " bytes of key and ", value.size(),
        " bytes of value was emitted; together at most ", kRecordBytesMax * 2, " are allowed"));
  }
  std::string record;
  record.reserve(key.size() + value.size() + kLengthsBytesMax);
  AppendLength(key.size(), record);
  AppendLength(value.size(), record);
  record.append(key);
  record.append(value);
  for (std::size_t at = 0; at < record.size();) {
    const std::size_t part = std::min(record.size() - at, kFillBytes - 1);
    const bool last = at + part == record.size();
    std::string block(
        1, static_cast<char>(last ? BlockKind::kRecordLastPart : BlockKind::kRecordPart));
    block.append(record, at, part);
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
