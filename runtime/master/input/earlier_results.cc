#include "runtime/master/input/earlier_results.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/errno_advice.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/input/glob_pattern.h"
#include "runtime/master/output/manifest.h"
#include "runtime/master/output/output_places.h"

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

// Where a directory will be: below one that is there.
struct PlaceToBe {
  env::FileInfo above;
  std::vector<std::string> names;  // from there to the directory, at least its own
};

// None where nothing above it can be looked at.
std::optional<PlaceToBe> PlaceOf(env::Storage& storage, const std::string& directory) {
  std::string above = directory;
  absl::StatusOr<env::FileInfo> there = absl::NotFoundError("");
  std::vector<std::string> names;
  while (!there.ok() && above.size() > 1) {
    const std::size_t slash = above.rfind('/');
    if (slash == std::string::npos) return std::nullopt;
    names.insert(names.begin(), above.substr(slash + 1));
    above.resize(slash == 0 ? 1 : slash);
    there = storage.Stat(above);
  }
  if (!there.ok()) return std::nullopt;
  return PlaceToBe{*there, std::move(names)};
}

// True of what lies in a directory of the input by these names, from the one with number `begin`.
bool IsReadBelow(const std::vector<std::string>& names, std::size_t begin) {
  return std::none_of(names.begin() + static_cast<std::ptrdiff_t>(begin), names.end(),
                      IsHiddenName);
}

// True if the pattern, which has no braces, leads to `above`, whatever links it goes by.
bool LeadsTo(env::Storage& storage, const std::string& pattern, const env::FileInfo& above) {
  std::vector<std::string> found = {pattern};
  if (!storage.Stat(pattern).ok()) {
    found = storage.Glob(pattern).value_or(std::vector<std::string>());
  }
  return std::any_of(found.begin(), found.end(), [&](const std::string& path) {
    const absl::StatusOr<env::FileInfo> info = storage.Stat(path);
    return info.ok() && AreOne(*info, above);
  });
}

// True if a pattern without braces will match the place, a directory above it that is to be made,
// or its first part, once they are there.
bool WillMatch(env::Storage& storage, const std::string& pattern, const PlaceToBe& place) {
  std::vector<std::string> patterns = absl::StrSplit(pattern, '/', absl::SkipEmpty());
  std::vector<std::string> names = place.names;
  names.push_back(PartName(0));
  for (std::size_t num_names = 1; num_names <= std::min(names.size(), patterns.size());
       ++num_names) {
    const std::size_t num_before = patterns.size() - num_names;
    const auto before = patterns.begin() + static_cast<std::ptrdiff_t>(num_before);
    if (!std::equal(before, patterns.end(), names.begin(), MatchesName)) continue;
    if (!IsReadBelow(names, num_names)) continue;
    const std::string folder = absl::StrCat(pattern.starts_with('/') ? "/" : "",
                                            absl::StrJoin(patterns.begin(), before, "/"));
    if (LeadsTo(storage, folder, place.above)) return true;
  }
  return false;
}

absl::Status ReadAgain(const std::string& what) {
  return StatusFromJobError(
      absl::StatusCode::kInvalidArgument,
      MakeJobError(job_error::kInvalidJob,
                   absl::StrCat(what, ": whoever runs on that again would read it as data"),
                   "choose an output beside the input, or one whose name begins with '_' or '.', "
                   "which jobs leave out"));
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
  const std::optional<PlaceToBe> place = PlaceOf(storage, output);
  if (!place || !IsReadBelow(place->names, 0)) return absl::OkStatus();
  for (const env::FileInfo& directory : directories) {
    if (!AreOne(directory, place->above)) continue;
    return ReadAgain(absl::StrCat("the output ", output, " would lie in a directory of the input, ",
                                  directory.path));
  }
  return absl::OkStatus();
}

absl::Status CheckOutputUnmatched(env::Storage& storage, const std::vector<std::string>& inputs,
                                  const std::string& output) {
  std::optional<PlaceToBe> place;
  for (const std::string& input : inputs) {
    if (!IsGlob(input) || storage.Stat(input).ok()) continue;
    if (!place) place = PlaceOf(storage, output);
    if (!place) return absl::OkStatus();
    for (const std::string& pattern : Alternatives(input)) {
      if (!WillMatch(storage, pattern, *place)) continue;
      return ReadAgain(absl::StrCat("the input ", input, " would match the output ", output));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::master
