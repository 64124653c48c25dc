#include "jobs/engine/references/reference_sections.h"

#include <string>

namespace weir {

absl::Status ReferenceSectionWriter::Begin(int consumer) {
  if (absl::Status status = Flush(); !status.ok()) return status;
  return sink_.BeginSection(consumer);
}

bool ReferenceSectionWriter::FindPart(const char* record) {
  const auto bytes = static_cast<std::int64_t>(shape_.bytes());
  const InputReferences::Mapped* const found = references_.Find(record, bytes);
  if (found == nullptr) return false;
  std::optional<std::uint64_t>& file = file_references_[found->file];
  if (!file) file = block_.AddFile(references_.files()[found->file]);
  if (!file) return false;
  part_begin_ = found->bytes.data;
  part_last_ = part_begin_ + (found->bytes.bytes - bytes);
  part_reference_ = *file + static_cast<std::uint64_t>(found->bytes.offset);
  return true;
}

absl::Status ReferenceSectionWriter::AddCopy(const char* record) {
  std::string encoded;
  AppendLength(shape_.key_bytes, encoded);
  AppendLength(shape_.value_bytes, encoded);
  return AddEncoded(encoded.append(record, shape_.bytes()));
}

absl::Status ReferenceSectionWriter::AddEncoded(std::string_view record) {
  if (record.size() + 1 > kBlockFillBytes / 2) {
    absl::Status status = Flush();
    if (status.ok()) status = long_records_.AddEncoded(record);
    return status.ok() ? long_records_.Finish() : status;
  }
  if (absl::Status status = MakeRoom(record.size()); !status.ok()) return status;
  block_.AddRecord(record);
  return absl::OkStatus();
}

absl::Status ReferenceSectionWriter::Flush() {
  if (block_.empty()) return absl::OkStatus();
  const std::int64_t records = block_.records();
  const auto stands_for_bytes = static_cast<std::int64_t>(block_.stands_for_bytes());
  file_references_.assign(file_references_.size(), std::nullopt);
  part_begin_ = nullptr;
  part_last_ = nullptr;
  return sink_.AppendStandIn(block_.Finish(), records, stands_for_bytes);
}

}  // namespace weir
