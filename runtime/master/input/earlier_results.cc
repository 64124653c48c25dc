#include "runtime/master/input/earlier_results.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/errno_advice.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/output/manifest.h"

namespace weir::master {
namespace {

absl::Status Unreadable(const std::string& message, const std::string& advice,
                        const std::string& path) {
  v1::JobError error = MakeJobError(job_error::kInputUnreadable, message, advice);
  error.set_file(path);
  return StatusFromJobError(absl::StatusCode::kInvalidArgument, error);
}

// One file under two names, by links or bind mounts, has one of these; one that is also reached
// through a file system of its own (FUSE) has two.
using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;

// All files below `directory`. What cannot be listed holds nothing that is read as input.
void AddFilesBelow(env::Storage& storage, const std::string& directory,
                   std::map<FileIdentity, std::string>& files) {
  const absl::StatusOr<std::vector<env::FileInfo>> entries = storage.List(directory);
  if (!entries.ok()) return;
  for (const env::FileInfo& entry : *entries) {
    if (entry.is_directory) AddFilesBelow(storage, entry.path, files);
    // 0: the file system does not tell.
    if (!entry.is_regular || entry.version.inode == 0) continue;
    files.emplace(FileIdentity(entry.version.device, entry.version.inode), entry.path);
  }
}

bool IsHiddenName(std::string_view name) { return name.starts_with('.') || name.starts_with('_'); }

// Two ways to one directory. 0: the file system does not tell.
bool AreOne(const env::FileInfo& a, const env::FileInfo& b) {
  const bool same_file = a.version.inode != 0 && a.version.inode == b.version.inode &&
                         a.version.device == b.version.device;
  return same_file || a.path == b.path;
}

absl::Status Inside(const std::string& message) {
  return StatusFromJobError(
      absl::StatusCode::kInvalidArgument,
      MakeJobError(job_error::kInvalidJob, message, "choose another output directory"));
}

}  // namespace

absl::StatusOr<bool> IsWholeResult(env::Storage& storage, const std::string& directory) {
  // A pipe would be waited for.
  const auto there = storage.Stat(absl::StrCat(directory, "/", kManifestName));
  if (!there.ok() || !there->is_regular) return false;
  const absl::StatusOr<Manifest> manifest = ReadManifest(storage, directory);
  if (absl::IsInvalidArgument(manifest.status()) || absl::IsNotFound(manifest.status()) ||
      absl::IsResourceExhausted(manifest.status())) {
    return false;  // gone by now, of somebody else, larger than any of ours
  }
  if (!manifest.ok()) {
    return Unreadable(absl::StrCat("input cannot be read: ", manifest.status().message()),
                      std::string(AdviceForErrno(ErrnoOf(manifest.status()))), directory);
  }
  const std::string fault = FaultOfParts(storage, directory, *manifest);
  if (!fault.empty()) {
    return Unreadable(absl::StrCat("the input ", directory, " is the result of job ",
                                   manifest->job_id, ", of which ", fault),
                      "run that job again, or name the files or a glob where a part of its result "
                      "is enough",
                      directory);
  }
  return true;
}

absl::Status CheckInputsOutside(env::Storage& storage, const InputList& input,
                                const std::string& output) {
  for (const InputFile& file : input.files) {
    if (absl::StartsWith(file.path, output + "/")) {
      return Inside(
          absl::StrCat("input ", file.path, " lies inside the output directory ", output));
    }
  }
  std::map<FileIdentity, std::string> old_files;
  AddFilesBelow(storage, output, old_files);
  for (const InputFile& file : input.files) {
    const auto old = old_files.find(FileIdentity(file.version.device, file.version.inode));
    if (old == old_files.end()) continue;
    return Inside(absl::StrCat("input ", file.path, " is the same file as ", old->second,
                               ", which lies inside the output directory ", output));
  }
  return absl::OkStatus();
}

absl::Status CheckOutputOutside(env::Storage& storage,
                                const std::vector<env::FileInfo>& directories,
                                const std::string& output) {
  if (directories.empty()) return absl::OkStatus();
  std::string above = output;
  absl::StatusOr<env::FileInfo> there = absl::NotFoundError("");
  while (!there.ok() && above.size() > 1) {
    const std::size_t slash = above.rfind('/');
    if (slash == std::string::npos) return absl::OkStatus();
    if (IsHiddenName(above.substr(slash + 1))) return absl::OkStatus();
    above.resize(slash == 0 ? 1 : slash);
    there = storage.Stat(above);
  }
  if (!there.ok()) return absl::OkStatus();
  for (const env::FileInfo& directory : directories) {
    if (!AreOne(directory, *there)) continue;
    return StatusFromJobError(
        absl::StatusCode::kInvalidArgument,
        MakeJobError(
            job_error::kInvalidJob,
            absl::StrCat("the output ", output, " would lie in a directory of the input, ",
                         directory.path, ": whoever runs on that again would read it as data"),
            "choose an output beside the input, or one whose name begins with '_' or '.', "
            "which jobs leave out"));
  }
  return absl::OkStatus();
}

}  // namespace weir::master
