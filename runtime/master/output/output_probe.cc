#include "runtime/master/output/output_probe.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/output/output_errors.h"

namespace weir::master {
namespace {

absl::Status Cannot(const absl::Status& status, const OutputPlaces& places,
                    absl::string_view what) {
  if (status.ok()) return status;
  const std::string doing = absl::StrCat("the file system of ", places.output, " cannot ", what);
  if (IsDiskFull(status)) return FromStorage(status, doing);
  return StatusFromJobError(
      status.code(),
      MakeJobError(job_error::kOutputUnusable, absl::StrCat(doing, ": ", status.message()),
                   "choose an output on another file system; the job has not run"));
}

/// Renaming a directory to one that has entries succeeds nowhere. By how it fails the kernel says
/// whether the old output could be moved, and the old output stays where it is: it cannot when it
/// is a mount point, lies in a lower layer of an overlay or belongs to somebody else.
absl::Status ProbeOldOutput(env::Storage& storage, const OutputPlaces& places) {
  const absl::Status moved = storage.Rename(places.output, places.staging);
  if (absl::IsAlreadyExists(moved) || absl::IsNotFound(moved)) return absl::OkStatus();
  if (!moved.ok()) return Cannot(moved, places, "move the old output");
  absl::Status back = storage.Rename(places.staging, places.output);
  return Cannot(
      back.ok() ? absl::UnavailableError("it replaced a directory that is not empty") : back,
      places, "rename safely");
}

absl::Status Unusable(absl::StatusCode code, const std::string& message, const char* advice) {
  return StatusFromJobError(code, MakeJobError(job_error::kOutputUnusable, message, advice));
}

// Of the usual length, taken up again by a master of some age.
constexpr char kAnyJobId[] = "j-20260131-120000-1a2b";
constexpr std::int64_t kAnyLife = 99'999;

}  // namespace

absl::Status CheckOutputName(env::Storage& storage, const std::string& output) {
  const std::string longest = OutputPlaces(output, kAnyJobId, kAnyLife).removed;
  if (ErrnoOf(storage.Stat(longest).status()) != ENAMETOOLONG) return absl::OkStatus();
  return Unusable(absl::StatusCode::kInvalidArgument,
                  absl::StrCat("the name of the output has ", output.size() - output.rfind('/') - 1,
                               " bytes and the path ", output.size(), ", and the job needs ",
                               longest.size() - output.size(),
                               " more beside it, which its file system does not know: ", output),
                  "choose a shorter name");
}

std::string TrialDirectory(const std::string& output) {
  return OutputPlaces(output, "trial").staging;
}

absl::Status ProbeParent(env::Storage& storage, const std::string& output) {
  const std::size_t slash = output.rfind('/');
  const absl::StatusOr<std::vector<std::string>> names =
      storage.ListNames(output.substr(0, std::max<std::size_t>(1, slash)));
  // Stat found nothing there, or a directory that is overwritten.
  if (names.ok() && !storage.Stat(output).ok() &&
      std::binary_search(names->begin(), names->end(), output.substr(slash + 1))) {
    return Unusable(absl::StatusCode::kFailedPrecondition,
                    absl::StrCat("the output is a symbolic link that leads nowhere: ", output),
                    "remove the link, or name the directory that it should lead to");
  }
  // Exchanged with the new output, the link would be lost, and what it leads to would stay as it
  // is.
  const absl::StatusOr<env::Privacy> link = storage.PrivacyOf(output);
  if (link.ok() && *link == env::Privacy::kNoDirectory && storage.Stat(output).ok()) {
    return Unusable(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat("the output is a symbolic link, which a result does not replace: ", output),
        "name the directory that it leads to, or remove the link");
  }
  const std::string trial = TrialDirectory(output);
  const absl::Status made = storage.MakeDirectory(trial);
  // What is there was left by a master that died here, or belongs to one that looks just now.
  if (!made.ok() && !absl::IsAlreadyExists(made)) {
    return FromStorage(made, "no directory can be made beside the output");
  }
  return FromStorage(storage.RemoveAll(trial), "a directory beside the output cannot be removed");
}

absl::Status ProbeOutput(env::Storage& storage, const OutputPlaces& places, bool overwrite) {
  const std::string a = absl::StrCat(places.staging, "/.weir-probe-a");
  const std::string b = absl::StrCat(places.staging, "/.weir-probe-b");
  const auto make = [&storage](const std::string& directory) -> absl::Status {
    if (absl::Status made = storage.MakeDirectory(directory); !made.ok()) return made;
    return storage.WriteFileAtomically(absl::StrCat(directory, "/file"), "probe\n");
  };
  if (absl::Status s = Cannot(make(a), places, "hold a directory with a file"); !s.ok()) return s;
  absl::Status renamed = storage.Rename(a, b);
  if (absl::Status s = Cannot(renamed, places, "rename a directory"); !s.ok()) return s;
  renamed = storage.Rename(absl::StrCat(b, "/file"), absl::StrCat(b, "/renamed"));
  if (absl::Status s = Cannot(renamed, places, "rename a file"); !s.ok()) return s;
  if (overwrite) {
    if (absl::Status s = Cannot(make(a), places, "hold a second directory"); !s.ok()) return s;
    const absl::Status exchanged = storage.Exchange(a, b);
    // Two renames do where it is not known; one that fails in another way would fail at the end.
    if (!exchanged.ok() && !absl::IsUnimplemented(exchanged)) {
      return Cannot(exchanged, places, "exchange two directories");
    }
    if (absl::Status s = ProbeOldOutput(storage, places); !s.ok()) return s;
  }
  const absl::Status synced = storage.SyncDirectory(places.staging);
  if (absl::Status s = Cannot(synced, places, "sync a directory"); !s.ok()) return s;
  for (const std::string& directory : {a, b}) {
    const absl::Status removed = storage.RemoveAll(directory);
    if (absl::Status s = Cannot(removed, places, "remove a directory"); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace weir::master
