#include "jobs/engine/references/referenced_files.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "jobs/engine/references/reference_block.h"
#include "jobs/engine/sections/prefetch_record.h"
#include "jobs/engine/sections/record_lengths.h"
#include "jobs/engine/sections/section_blocks.h"

namespace weir {
namespace {

class ReferencedSource : public RunSource {
 public:
  ReferencedSource(RunSource& source, ReferencedFiles& files, StepContext& context)
      : source_(source), files_(files), context_(context) {}

  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    absl::StatusOr<absl::Span<const char>> block = source_.NextBlock();
    if (!block.ok() || !IsOfReferences({block->data(), block->size()})) return block;
    if (absl::Status found = Find({block->data(), block->size()}, whole_); !found.ok()) {
      return found;
    }
    return absl::Span<const char>(whole_);
  }

  absl::StatusOr<bool> TakeBlock(std::string& block) override {
    absl::StatusOr<bool> more = source_.TakeBlock(block);
    if (!more.ok() || !IsOfReferences(block)) return more;
    std::swap(block, references_);
    if (absl::Status found = Find(references_, block); !found.ok()) return found;
    return true;
  }

 private:
  static bool IsOfReferences(std::string_view block) {
    return !block.empty() && block.front() == static_cast<char>(BlockKind::kReferences);
  }

  // A file of the block that is being read.
  struct Opened {
    ReferencedFiles::File* file;
    const char* data;      // its byte 0; null: it has to be read
    std::int64_t last_at;  // the last offset at which a record may begin
  };

  // Makes `whole` the block that `block` stands for.
  absl::Status Find(std::string_view block, std::string& whole) {
    if (absl::Status legal = ReadReferenceBlock(block, read_); !legal.ok()) return legal;
    const ReadUnderWay reading(context_);  // pages may come from a disk
    opened_.clear();
    for (const std::string_view entry : read_.files) {
      const absl::StatusOr<ReferencedFiles::File*> file = files_.Open(entry);
      if (!file.ok()) return file.status();
      opened_.push_back({*file, (*file)->data(),
                         (*file)->bytes() - static_cast<std::int64_t>(read_.shape.bytes())});
    }
    lengths_.clear();
    AppendLength(read_.shape.key_bytes, lengths_);
    AppendLength(read_.shape.value_bytes, lengths_);
    whole.resize(read_.stands_for_bytes);
    return Copy(whole.data());
  }

  absl::Status Copy(char* out) {
    const std::size_t bytes = read_.shape.bytes();
    const std::size_t last = LastPrefetched(bytes);
    const std::size_t size = read_.entries.size();
    *out++ = static_cast<char>(BlockKind::kWholeRecords);
    for (std::size_t i = 0; i < size; ++i) {
      if (i + kAheadRecords < size) {
        const ReferenceBlock::Entry ahead = read_.entries[i + kAheadRecords];
        const char* const data = ahead.is_record() ? nullptr : opened_[ahead.file()].data;
        if (data != nullptr) PrefetchRecord(data + ahead.offset(), last);
      }
      const ReferenceBlock::Entry entry = read_.entries[i];
      if (entry.is_record()) {
        const std::string_view record = read_.RecordOf(entry);
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
        absl::Status status =
            from.file->Read(entry.offset(), out, static_cast<std::int64_t>(bytes));
        if (!status.ok()) return status;
      }
      out += bytes;
    }
    return absl::OkStatus();
  }

  static absl::Status BehindTheEnd(std::int64_t offset, std::int64_t file_bytes) {
    return absl::DataLossError(absl::StrCat("section of a run is damaged: a record at byte ",
                                            offset, " of a file of ", file_bytes));
  }

  RunSource& source_;
  ReferencedFiles& files_;
  StepContext& context_;
  ReferenceBlock read_;
  std::vector<Opened> opened_;  // of the block
  std::string lengths_;         // before each record that it refers to
  std::string whole_;           // that NextBlock gave last
  std::string references_;      // that TakeBlock took
};

}  // namespace

absl::Status ReferencedFiles::File::Read(std::int64_t offset, char* into, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  return file_.Read(offset, into, bytes);
}

absl::StatusOr<ReferencedFiles::File*> ReferencedFiles::Open(std::string_view entry) {
  const std::lock_guard lock(mutex_);
  if (const auto known = files_.find(entry); known != files_.end()) return known->second.get();
  const InputRange whole = FileOf(entry);
  auto file = std::make_unique<File>();
  if (absl::Status status = file->file_.Open(whole); !status.ok()) return status;
  file->file_.Map(whole, '\0', kReferencedBytesMin);
  file->mapped_ = file->file_.mapped();
  file->bytes_ = whole.file_bytes;
  return files_.emplace(entry, std::move(file)).first->second.get();
}

absl::Status ReferencedFiles::CheckUnchanged() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [entry, file] : files_) {
    if (absl::Status status = file->file_.CheckUnchanged(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

ReferencedSources::ReferencedSources(const Sources& sources, StepContext& context)
    : given_(sources) {
  if (!context.refers_to_input()) return;
  for (const auto& source : sources) {
    whole_.push_back(std::make_unique<ReferencedSource>(*source, files_, context));
  }
}

}  // namespace weir
