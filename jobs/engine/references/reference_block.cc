#include "jobs/engine/references/reference_block.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jobs/engine/sections/record_lengths.h"
#include "jobs/engine/sections/section_blocks.h"

namespace weir {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are little-endian");

constexpr std::size_t kNumberBytes = sizeof(std::uint64_t);
constexpr std::size_t kNumbersOfAFile = 5;
using Entry = ReferenceBlock::Entry;

void AppendNumber(std::uint64_t number, std::string& out) {
  char bytes[kNumberBytes];
  std::memcpy(bytes, &number, kNumberBytes);
  out.append(bytes, kNumberBytes);
}

std::uint64_t NumberAt(const char* at) {
  std::uint64_t number = 0;
  std::memcpy(&number, at, kNumberBytes);
  return number;
}

void AppendFile(const InputRange& file, std::string& out) {
  AppendLength(file.path.size(), out);
  out.append(file.path);
  AppendNumber(static_cast<std::uint64_t>(file.file_bytes), out);
  AppendNumber(static_cast<std::uint64_t>(file.version.modified_ns), out);
  AppendNumber(static_cast<std::uint64_t>(file.version.changed_ns), out);
  AppendNumber(file.version.inode, out);
  AppendNumber(file.version.device, out);
}

std::size_t EncodedBytes(const RecordShape& shape) {
  return LengthBytes(shape.key_bytes) + LengthBytes(shape.value_bytes) + shape.bytes();
}

// Takes one file of the list; false where there is none.
bool TakeFile(std::string_view& list, std::string_view& file) {
  const char* const begin = list.data();
  std::size_t path_bytes = 0;
  if (!TakeLength(list, path_bytes) || path_bytes == 0 || path_bytes > list.size() ||
      list.size() - path_bytes < kNumbersOfAFile * kNumberBytes) {
    return false;
  }
  list.remove_prefix(path_bytes + kNumbersOfAFile * kNumberBytes);
  file = {begin, static_cast<std::size_t>(list.data() - begin)};
  return true;
}

// Whether it is lengths, key and value of one record.
bool IsRecord(std::string_view encoded) {
  std::size_t key_bytes = 0;
  std::size_t value_bytes = 0;
  return TakeLength(encoded, key_bytes) && TakeLength(encoded, value_bytes) &&
         key_bytes <= encoded.size() && value_bytes == encoded.size() - key_bytes;
}

absl::Status Illegal() {
  return absl::DataLossError("section of a run is damaged: a block of references is not as one is");
}

}  // namespace

ReferenceBlockBuilder::ReferenceBlockBuilder(RecordShape shape)
    : shape_(shape), record_bytes_(EncodedBytes(shape)) {}

std::optional<std::uint64_t> ReferenceBlockBuilder::AddFile(const InputRange& file) {
  constexpr std::uint64_t kFilesMax = std::uint64_t{1} << (64 - Entry::kFileShift);
  if (num_files_ == kFilesMax || file.file_bytes > kOffsetEnd) return std::nullopt;
  AppendFile(file, file_list_);
  return num_files_++ << Entry::kFileShift;
}

void ReferenceBlockBuilder::Grow(std::size_t bytes) {
  entries_.resize(std::max(2 * entries_.size(), entries_bytes_ + bytes));
}

void ReferenceBlockBuilder::AddRecord(std::string_view record) {
  AppendEntry(Entry::kIsRecord | record.size());
  if (entries_.size() - entries_bytes_ < record.size()) Grow(record.size());
  std::copy(record.begin(), record.end(), entries_.data() + entries_bytes_);
  entries_bytes_ += record.size();
  ++records_;
  stands_for_bytes_ += record.size();
}

std::string_view ReferenceBlockBuilder::Finish() {
  block_.assign(1, static_cast<char>(BlockKind::kReferences));
  AppendLength(shape_.key_bytes, block_);
  AppendLength(shape_.value_bytes, block_);
  AppendLength(file_list_.size(), block_);
  block_.append(file_list_).append(entries_, 0, entries_bytes_);
  num_files_ = 0;
  file_list_.clear();
  entries_bytes_ = 0;
  records_ = 0;
  stands_for_bytes_ = 1;
  return block_;
}

bool IsOfReferences(std::string_view block) {
  return !block.empty() && block.front() == static_cast<char>(BlockKind::kReferences);
}

absl::Status ReadReferenceBlock(std::string_view block, ReferenceBlock& read) {
  read.block = block;
  read.files.clear();
  if (!IsOfReferences(block)) return Illegal();
  std::string_view left = block.substr(1);
  std::size_t list_bytes = 0;
  if (!TakeLength(left, read.shape.key_bytes) || !TakeLength(left, read.shape.value_bytes) ||
      !TakeLength(left, list_bytes) || list_bytes > left.size()) {
    return Illegal();
  }
  std::string_view list = left.substr(0, list_bytes);
  left.remove_prefix(list_bytes);
  while (!list.empty()) {
    if (!TakeFile(list, read.files.emplace_back())) return Illegal();
  }
  read.entries_at = static_cast<std::size_t>(left.data() - block.data());
  read.entries.resize(left.size() / kNumberBytes);
  std::size_t num_entries = 0;
  std::size_t num_references = 0;
  std::size_t bytes = 1;  // of the records
  while (left.size() >= kNumberBytes) {
    const std::uint64_t number = NumberAt(left.data());
    Entry entry(number);
    if (!entry.is_record()) {
      if (entry.file() >= read.files.size()) return Illegal();
      ++num_references;
      left.remove_prefix(kNumberBytes);
    } else {
      entry = Entry(Entry::kIsRecord | static_cast<std::uint64_t>(left.data() - block.data()));
      left.remove_prefix(kNumberBytes);
      const std::uint64_t record_bytes = number & ~Entry::kIsRecord;
      if (record_bytes > left.size() || !IsRecord(left.substr(0, record_bytes))) return Illegal();
      left.remove_prefix(record_bytes);
      bytes += record_bytes;
    }
    read.entries[num_entries++] = entry;
  }
  read.entries.resize(num_entries);
  // The product fits: of at most a block for each eighth of this one's bytes.
  const auto most = static_cast<std::size_t>(kBlockBytesMax);
  const std::size_t record_bytes = EncodedBytes(read.shape);
  if (num_references > 0 && record_bytes > most) return Illegal();
  read.stands_for_bytes = bytes + num_references * record_bytes;
  if (!left.empty() || num_entries == 0 || read.stands_for_bytes > most) return Illegal();
  return absl::OkStatus();
}

std::string_view ReferenceBlock::RecordOf(Entry entry) const {
  const char* const length = block.data() + entry.offset();
  return {length + kNumberBytes, NumberAt(length) & ~Entry::kIsRecord};
}

std::size_t CutReferenceBlock(const ReferenceBlock& read, std::size_t count, std::string& first,
                              std::string& rest) {
  const std::size_t record_bytes = EncodedBytes(read.shape);
  std::size_t at = read.entries_at;
  std::size_t stands_for_bytes = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Entry entry = read.entries[i];
    const std::size_t held_bytes = entry.is_record() ? read.RecordOf(entry).size() : 0;
    at += kNumberBytes + held_bytes;
    stands_for_bytes += entry.is_record() ? held_bytes : record_bytes;
  }
  first.assign(read.block.substr(0, at));
  rest.assign(read.block.substr(0, read.entries_at)).append(read.block.substr(at));
  return stands_for_bytes;
}

InputRange FileOf(std::string_view entry) {
  InputRange file;
  std::size_t path_bytes = 0;
  TakeLength(entry, path_bytes);
  file.path = entry.substr(0, path_bytes);
  const char* const numbers = entry.data() + path_bytes;
  file.file_bytes = static_cast<std::int64_t>(NumberAt(numbers));
  file.end = file.file_bytes;
  file.version = {.modified_ns = static_cast<std::int64_t>(NumberAt(numbers + kNumberBytes)),
                  .changed_ns = static_cast<std::int64_t>(NumberAt(numbers + 2 * kNumberBytes)),
                  .inode = NumberAt(numbers + 3 * kNumberBytes),
                  .device = NumberAt(numbers + 4 * kNumberBytes)};
  return file;
}

}  // namespace weir
