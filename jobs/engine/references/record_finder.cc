#include "jobs/engine/references/record_finder.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "jobs/engine/sections/prefetch_record.h"
#include "jobs/engine/sections/record_lengths.h"
#include "jobs/engine/sections/section_blocks.h"

namespace weir {
namespace {

absl::Status BehindTheEnd(std::int64_t offset, std::int64_t file_bytes) {
  return absl::DataLossError(absl::StrCat("section of a run is damaged: a record at byte ", offset,
                                          " of a file of ", file_bytes));
}

}  // namespace

absl::Status RecordFinder::Begin(std::string_view block) {
  if (absl::Status legal = ReadReferenceBlock(block, block_); !legal.ok()) return legal;
  const ReadUnderWay reading(context_);
  opened_.clear();
  for (const std::string_view entry : block_.files) {
    const absl::StatusOr<ReferencedFiles::File*> file = files_.Open(entry);
    if (!file.ok()) return file.status();
    opened_.push_back({*file, (*file)->data(),
                       (*file)->bytes() - static_cast<std::int64_t>(block_.shape.bytes())});
  }
  lengths_.clear();
  AppendLength(block_.shape.key_bytes, lengths_);
  AppendLength(block_.shape.value_bytes, lengths_);
  return absl::OkStatus();
}

absl::Status RecordFinder::FindAll(char* out) {
  const ReadUnderWay reading(context_);  // pages may come from a disk
  const std::size_t bytes = block_.shape.bytes();
  const std::size_t last = LastPrefetched(bytes);
  const std::size_t size = block_.entries.size();
  *out++ = static_cast<char>(BlockKind::kWholeRecords);
  for (std::size_t i = 0; i < size; ++i) {
    if (i + kAheadRecords < size) {
      const ReferenceBlock::Entry ahead = block_.entries[i + kAheadRecords];
      const char* const data = ahead.is_record() ? nullptr : opened_[ahead.file()].data;
      if (data != nullptr) PrefetchRecord(data + ahead.offset(), last);
    }
    const ReferenceBlock::Entry entry = block_.entries[i];
    if (entry.is_record()) {
      const std::string_view record = block_.RecordOf(entry);
      std::memcpy(out, record.data(), record.size());
      out += record.size();
      continue;
    }
    const Opened& from = opened_[entry.file()];
    if (entry.offset() > from.last_at) return BehindTheEnd(entry.offset(), from.file->bytes());
    constexpr std::size_t kShortLengths = 2;  // of most records: not worth a call
    if (lengths_.size() == kShortLengths) {
      std::memcpy(out, lengths_.data(), kShortLengths);
    } else {
      std::memcpy(out, lengths_.data(), lengths_.size());
    }
    out += lengths_.size();
    if (from.data != nullptr) {
      std::memcpy(out, from.data + entry.offset(), bytes);
    } else {
      absl::Status status = from.file->Read(entry.offset(), out, static_cast<std::int64_t>(bytes));
      if (!status.ok()) return status;
    }
    out += bytes;
  }
  return absl::OkStatus();
}

absl::Status RecordFinder::FindKey(std::size_t index, std::string& key) {
  const ReadUnderWay reading(context_);
  const absl::StatusOr<std::string_view> found = KeyOf(index);
  if (!found.ok()) return found.status();
  key = *found;
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> RecordFinder::CountBefore(std::string_view end) {
  const ReadUnderWay reading(context_);
  std::size_t low = 0;
  std::size_t high = block_.entries.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const absl::StatusOr<std::string_view> key = KeyOf(middle);
    if (!key.ok()) return key.status();
    if (*key < end) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

absl::StatusOr<std::string_view> RecordFinder::KeyOf(std::size_t index) {
  const ReferenceBlock::Entry entry = block_.entries[index];
  if (entry.is_record()) {
    std::string_view record = block_.RecordOf(entry);
    std::size_t key_bytes = 0;
    std::size_t value_bytes = 0;
    TakeLength(record, key_bytes);
    TakeLength(record, value_bytes);
    return record.substr(0, key_bytes);
  }
  const Opened& from = opened_[entry.file()];
  if (entry.offset() > from.last_at) return BehindTheEnd(entry.offset(), from.file->bytes());
  if (from.data != nullptr) {
    return std::string_view(from.data + entry.offset(), block_.shape.key_bytes);
  }
  read_key_.resize(block_.shape.key_bytes);
  absl::Status status = from.file->Read(entry.offset(), read_key_.data(),
                                        static_cast<std::int64_t>(read_key_.size()));
  if (!status.ok()) return status;
  return std::string_view(read_key_);
}

}  // namespace weir
