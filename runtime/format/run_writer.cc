#include "runtime/format/run_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/format/block.h"

namespace weir::format {
namespace {

bool IsLegalBlock(std::int64_t raw_bytes, std::int64_t records) {
  return raw_bytes >= 1 && raw_bytes <= kBlockBytesMax && records >= 0 &&
         records <= kBlockRecordsMax;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunWriter>> RunWriter::Create(const std::string& path,
                                                             v1::Codec codec, TryCodecs tries) {
  absl::StatusOr<std::unique_ptr<FileAppender>> file = FileAppender::Create(path);
  if (!file.ok()) return file.status();
  return std::unique_ptr<RunWriter>(new RunWriter(*std::move(file), codec, tries));
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
  const auto raw_bytes = static_cast<std::int64_t>(block.size());
  if (absl::Status legal = CheckBlockOf(raw_bytes, records); !legal.ok()) return legal;
  trial_.Add(block);
  return AppendPacked(block, records, 0);
}

absl::Status RunWriter::AppendStandIn(std::string_view block, std::int64_t records,
                                      std::int64_t stands_for_bytes) {
  const auto raw_bytes = static_cast<std::int64_t>(block.size());
  if (absl::Status legal = CheckBlockOf(raw_bytes, records); !legal.ok()) return legal;
  return AppendPacked(block, records, stands_for_bytes);
}

absl::Status RunWriter::AppendPacked(std::string_view block, std::int64_t records,
                                     std::int64_t stands_for_bytes) {
  const auto raw_bytes = static_cast<std::int64_t>(block.size());
  v1::RunSection& section = OpenSection();
  const std::string_view packed = packer_.Pack(block);
  const std::string_view stored = packed.empty() ? block : packed;
  char header[kBlockHeaderBytes];
  EncodeBlockHeader(packed.empty() ? v1::CODEC_NONE : codec_, stored, raw_bytes, records, header);
  absl::Status appended = file_->Append({header, sizeof header});
  if (appended.ok()) appended = file_->Append(stored);
  if (!appended.ok()) return appended;
  CountBlock(section, std::max(raw_bytes, stands_for_bytes), records);
  return absl::OkStatus();
}

void RunWriter::Ready(int, std::string_view block, std::int64_t records, ReadyBlock& ready) {
  ready.raw_bytes = static_cast<std::int64_t>(block.size());
  ready.records = records;
  if (!IsLegalBlock(ready.raw_bytes, records)) return;  // AppendReady says so
  BlockPacker packer = TakePacker();
  const std::string_view packed = packer.Pack(block);
  const std::string_view stored = packed.empty() ? block : packed;
  ready.stored.resize(kBlockHeaderBytes);
  EncodeBlockHeader(packed.empty() ? v1::CODEC_NONE : codec_, stored, ready.raw_bytes, records,
                    ready.stored.data());
  ready.stored.append(stored);
  const std::lock_guard lock(idle_mutex_);
  idle_packers_.push_back(std::move(packer));
}

BlockPacker RunWriter::TakePacker() {
  const std::lock_guard lock(idle_mutex_);
  if (idle_packers_.empty()) return BlockPacker(codec_);
  BlockPacker packer = std::move(idle_packers_.back());
  idle_packers_.pop_back();
  return packer;
}

absl::Status RunWriter::AppendReady(const ReadyBlock& block) {
  absl::Status legal = CheckBlockOf(block.raw_bytes, block.records);
  if (!legal.ok()) return legal;
  v1::RunSection& section = OpenSection();
  if (block.stands_for_bytes == 0) {
    if (absl::Status tried = AddToTrial(block); !tried.ok()) return tried;
  }
  if (absl::Status appended = file_->Append(block.stored); !appended.ok()) return appended;
  CountBlock(section, std::max(block.raw_bytes, block.stands_for_bytes), block.records);
  return absl::OkStatus();
}

absl::Status RunWriter::CheckBlockOf(std::int64_t raw_bytes, std::int64_t records) const {
  if (consumer_ < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("block before the first section in ", file_->path()));
  }
  if (IsLegalBlock(raw_bytes, records)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "block of ", raw_bytes, " bytes and ", records, " records for ", file_->path(),
      "; legal are 1 to ", kBlockBytesMax, " bytes and 0 to ", kBlockRecordsMax, " records"));
}

v1::RunSection& RunWriter::OpenSection() {
  if (info_.sections().empty() || info_.sections().rbegin()->consumer_step() != consumer_) {
    v1::RunSection* section = info_.add_sections();
    section->set_consumer_step(consumer_);
    section->set_offset(file_->bytes());
  }
  return *info_.mutable_sections(info_.sections_size() - 1);
}

void RunWriter::CountBlock(v1::RunSection& section, std::int64_t bytes,
                           std::int64_t records) const {
  section.set_bytes(file_->bytes() - section.offset());
  section.set_records(section.records() + records);
  section.set_unpacked_bytes(section.unpacked_bytes() + kBlockHeaderBytes + bytes);
}

// Only the first blocks of a run are tried: what was packed of them is unpacked again.
absl::Status RunWriter::AddToTrial(const ReadyBlock& block) {
  if (trial_.full()) return absl::OkStatus();
  const std::string_view all = block.stored;
  const absl::StatusOr<BlockHeader> header = DecodeBlockHeader(all.substr(0, kBlockHeaderBytes));
  if (!header.ok()) return header.status();
  const std::string_view stored = all.substr(kBlockHeaderBytes);
  if (header->codec == v1::CODEC_NONE) {
    trial_.Add(stored);
    return absl::OkStatus();
  }
  std::string raw(static_cast<std::size_t>(block.raw_bytes), '\0');
  absl::Status unpacked = UnpackBlock(header->codec, stored, raw.data(), block.raw_bytes);
  if (unpacked.ok()) trial_.Add(raw);
  return unpacked;
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
