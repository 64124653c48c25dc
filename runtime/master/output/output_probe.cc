#include "runtime/master/output/output_probe.h"

#include <string>

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

}  // namespace

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
