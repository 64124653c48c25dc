#include "runtime/master/input/earlier_results.h"

#include <algorithm>
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

constexpr char kPartAdvice[] =
    "run that job again, or name the files or a glob where a part of its result is enough";

absl::Status Unreadable(const std::string& message, const std::string& advice,
                        const std::string& path) {
  v1::JobError error = MakeJobError(job_error::kInputUnreadable, message, advice);
  error.set_file(path);
  return StatusFromJobError(absl::StatusCode::kInvalidArgument, error);
}

std::string_view NameOf(const env::FileInfo& entry) {
  return std::string_view(entry.path).substr(entry.path.rfind('/') + 1);
}

const env::FileInfo* FileNamed(const std::vector<env::FileInfo>& entries, std::string_view name) {
  const auto found = std::lower_bound(entries.begin(), entries.end(), name,
                                      [](const env::FileInfo& entry, std::string_view searched) {
                                        return NameOf(entry) < searched;
                                      });
  return found != entries.end() && NameOf(*found) == name && found->is_regular ? &*found : nullptr;
}

absl::Status CheckPart(const std::string& directory, const std::string& job_id,
                       const v1::OutputPart& part, const std::vector<env::FileInfo>& entries) {
  const std::string path = absl::StrCat(directory, "/", part.file());
  const env::FileInfo* found = FileNamed(entries, part.file());
  const std::string whose =
      absl::StrCat("the input ", directory, " is the result of job ", job_id, ", of which ");
  if (found == nullptr) {
    return Unreadable(absl::StrCat(whose, part.file(), " is missing"), kPartAdvice, path);
  }
  if (found->bytes == part.bytes()) return absl::OkStatus();
  return Unreadable(absl::StrCat(whose, part.file(), " has ", found->bytes, " bytes, not the ",
                                 part.bytes(), " that were written"),
                    kPartAdvice, path);
}

// One file under two names, by links or mounts, has one of these.
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

absl::Status Inside(const std::string& message) {
  return StatusFromJobError(
      absl::StatusCode::kInvalidArgument,
      MakeJobError(job_error::kInvalidJob, message, "choose another output directory"));
}

}  // namespace

absl::StatusOr<bool> IsWholeResult(env::Storage& storage, const std::string& directory,
                                   const std::vector<env::FileInfo>& entries) {
  if (FileNamed(entries, kManifestName) == nullptr) return false;
  const std::string path = absl::StrCat(directory, "/", kManifestName);
  const absl::StatusOr<Manifest> manifest = ReadManifest(storage, directory);
  if (absl::IsInvalidArgument(manifest.status()) || absl::IsNotFound(manifest.status()) ||
      absl::IsResourceExhausted(manifest.status())) {
    return false;  // of somebody else, gone by now, larger than any of ours
  }
  if (!manifest.ok()) {
    return Unreadable(
        absl::StrCat("input cannot be read: ", path, ": ", manifest.status().message()),
        std::string(AdviceForErrno(ErrnoOf(manifest.status()))), path);
  }
  for (const v1::OutputPart& part : manifest->parts) {
    absl::Status whole = CheckPart(directory, manifest->job_id, part, entries);
    if (!whole.ok()) return whole;
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

}  // namespace weir::master
