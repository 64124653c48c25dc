#include "runtime/task/start/shipped_files.h"

#include <cerrno>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/errno_status.h"
#include "runtime/env/real/remove_tree.h"
#include "runtime/task/start/unpack_archive.h"
#include "runtime/task/start/worker_fault.h"

namespace weir::task {

namespace {

// Names in the archive itself that no file system takes.
bool IsOfArchive(int error_number) {
  switch (error_number) {
    case EEXIST:
    case EFBIG:
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case EMLINK:
    case ENAMETOOLONG:
    case ENOTDIR:
      return true;
    default:
      return false;
  }
}

// What else the system says of files in the work directory is no fault of the job or its archives.
absl::Status OfArchiveOrWorker(const absl::Status& status) {
  return IsOfArchive(ErrnoOf(status)) ? status : OfWorker(status, "archives cannot be unpacked");
}

}  // namespace

absl::Status PlaceShippedFiles(const v1::TaskCommand::Start& start) {
  UnpackBudget budget;
  std::string folders;
  const auto place = [&start](const auto& archive) {
    return absl::StrCat(start.work_dir(), "/", archive.folder());
  };
  // Of a process that went before this one, and was killed.
  for (const auto& archive : start.archives()) {
    if (absl::Status gone = env::RemoveTree(place(archive)); !gone.ok())
      return OfArchiveOrWorker(gone);
  }
  for (const auto& archive : start.archives()) {
    const std::string folder = place(archive);
    if (absl::Status unpacked = UnpackArchive(archive.path(), folder, budget); !unpacked.ok()) {
      return OfArchiveOrWorker(unpacked);
    }
    absl::StrAppend(&folders, folders.empty() ? "" : "\n", archive.folder());
  }
  const std::string files = absl::StrJoin(start.files(), "\n");
  if (!files.empty()) ::setenv("WEIR_JOB_FILES", files.c_str(), 1);
  if (!folders.empty()) ::setenv("WEIR_JOB_ARCHIVES", folders.c_str(), 1);
  return absl::OkStatus();
}

}  // namespace weir::task
