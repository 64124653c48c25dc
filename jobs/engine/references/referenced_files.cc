#include "jobs/engine/references/referenced_files.h"

#include <utility>

#include "jobs/api/program.h"
#include "jobs/engine/references/reference_block.h"

namespace weir {

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

}  // namespace weir
