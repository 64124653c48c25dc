#include "runtime/format/part_writer.h"

#include <utility>

namespace weir::format {

absl::StatusOr<std::unique_ptr<PartWriter>> PartWriter::Create(const std::string& path) {
  absl::StatusOr<std::unique_ptr<FileAppender>> file =
      FileAppender::Create(path, FileAppender::WriteBack::kInSteps);
  if (!file.ok()) return file.status();
  return std::unique_ptr<PartWriter>(new PartWriter(*std::move(file)));
}

absl::Status PartWriter::Append(std::string_view bytes, std::int64_t records) {
  checksum_.Append(bytes);
  records_ += records;
  return file_->Append(bytes);
}

absl::StatusOr<v1::OutputPart> PartWriter::Finish() {
  const absl::Status closed = file_->Close(FileAppender::Sync::kYes);
  if (!closed.ok()) return closed;
  v1::OutputPart part;
  part.set_file(file_->path().substr(file_->path().rfind('/') + 1));
  part.set_bytes(file_->bytes());
  part.set_records(records_);
  part.set_xxh3_64(Xxh3Hex(checksum_.Digest()));
  return part;
}

}  // namespace weir::format
