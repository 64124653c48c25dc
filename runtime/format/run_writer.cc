#include "runtime/format/run_writer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/format/block.h"

namespace weir::format {

absl::StatusOr<std::unique_ptr<RunWriter>> RunWriter::Create(const std::string& path,
                                                             v1::Codec codec) {
  absl::StatusOr<std::unique_ptr<FileAppender>> file = FileAppender::Create(path);
  if (!file.ok()) return file.status();
  return std::unique_ptr<RunWriter>(new RunWriter(*std::move(file), codec));
}

absl::Status RunWriter::BeginSection(int consumer) {
  if (consumer <= consumer_) {
    return absl::InvalidArgumentError(absl::StrCat("section of consumer ", consumer,
                                                   " follows that of ", consumer_, " in ",
                                                   file_->path(), "; sections must rise"));
  }
  consumer_ = consumer;
  return absl::OkStatus();
}

absl::Status RunWriter::Append(std::string_view block, std::int64_t records) {
  if (consumer_ < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("block before the first section in ", file_->path()));
  }
  if (block.empty() || block.size() > static_cast<std::size_t>(kBlockBytesMax) || records < 0 ||
      records > kBlockRecordsMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block of ", block.size(), " bytes and ", records, " records for ", file_->path(),
        "; legal are 1 to ", kBlockBytesMax, " bytes and 0 to ", kBlockRecordsMax, " records"));
  }
  if (info_.sections().empty() || info_.sections().rbegin()->consumer_step() != consumer_) {
    v1::RunSection* section = info_.add_sections();
    section->set_consumer_step(consumer_);
    section->set_offset(file_->bytes());
  }
  trial_.Add(block);
  const std::string_view packed = packer_.Pack(block);
  const std::string_view stored = packed.empty() ? block : packed;
  char header[kBlockHeaderBytes];
  EncodeBlockHeader(packed.empty() ? v1::CODEC_NONE : packer_.codec(), stored,
                    static_cast<std::int64_t>(block.size()), records, header);
  absl::Status appended = file_->Append({header, sizeof header});
  if (appended.ok()) appended = file_->Append(stored);
  if (!appended.ok()) return appended;
  v1::RunSection* section = info_.mutable_sections(info_.sections_size() - 1);
  section->set_bytes(file_->bytes() - section->offset());
  section->set_records(section->records() + records);
  section->set_unpacked_bytes(section->unpacked_bytes() + kBlockHeaderBytes +
                              static_cast<std::int64_t>(block.size()));
  return absl::OkStatus();
}

absl::StatusOr<v1::RunInfo> RunWriter::Finish(const std::string& run_id) {
  const absl::Status closed = file_->Close(FileAppender::Sync::kNo);
  if (!closed.ok()) return closed;
  info_.set_run_id(run_id);
  info_.set_bytes(file_->bytes());
  info_.set_path(file_->path());
  for (v1::CodecTrial& trial : trial_.Run()) *info_.add_trials() = std::move(trial);
  return std::move(info_);
}

}  // namespace weir::format
