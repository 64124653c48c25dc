#include "runtime/master/output/staged_output.h"

#include <algorithm>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/log.h"
#include "runtime/base/shell_path.h"
#include "runtime/master/output/old_output.h"
#include "runtime/master/output/output_errors.h"
#include "runtime/master/output/output_probe.h"

namespace weir::master {
namespace {

absl::StatusOr<bool> Exists(env::Storage& storage, const std::string& path) {
  absl::StatusOr<env::FileInfo> info = storage.Stat(path);
  if (info.ok()) return true;
  if (absl::IsNotFound(info.status())) return false;
  return info.status();
}

/// The parts of the manifest in `output` if `job_id` wrote it, else nothing.
absl::StatusOr<std::vector<v1::OutputPart>> PartsPublishedBy(env::Storage& storage,
                                                             const std::string& output,
                                                             const std::string& job_id) {
  absl::StatusOr<Manifest> manifest = ReadManifest(storage, output);
  if (!manifest.ok()) return manifest.status();
  if (manifest->job_id == job_id) return std::move(manifest->parts);
  return absl::NotFoundError(absl::StrCat("job ", job_id, " did not publish ", output));
}

bool IsAsTold(const absl::StatusOr<env::FileInfo>& found, const CommittedPart& committed) {
  return found.ok() && found->is_regular && found->bytes == committed.part.bytes();
}

v1::JobError NotAsTold(const std::string& staging, const CommittedPart& committed,
                       const absl::StatusOr<env::FileInfo>& found) {
  v1::JobError error = MakeJobError(
      job_error::kDataLoss,
      absl::StrCat("output part ", PartName(committed.index), " was reported with ",
                   committed.part.bytes(), " bytes by worker ", committed.worker,
                   ", the master finds ",
                   found.ok() ? absl::StrCat(found->bytes, " bytes") : "no file", " in ", staging),
      "check that this worker and the master share the file system of the output, and the memory "
      "of its machine, then run again");
  error.set_worker(committed.worker);
  return error;
}

/// Where a commit is repeated, a part may have its final name already.
absl::StatusOr<env::FileInfo> FindPart(env::Storage& storage, const std::string& staging,
                                       const CommittedPart& committed) {
  absl::StatusOr<env::FileInfo> staged = storage.Stat(
      PathIn(staging, StagedPartName(committed.index, committed.plan_epoch, committed.attempt)));
  if (!absl::IsNotFound(staged.status())) return staged;
  return storage.Stat(PathIn(staging, PartName(committed.index)));
}

/// Looks at all parts before any gets its final name, under which another plan's would be taken for
/// it. Where those of several workers are not as told and nobody's are, the file system has lost
/// them, most likely: then it is not called a worker's fault.
absl::Status CheckParts(env::Storage& storage, const std::string& staging,
                        const std::vector<CommittedPart>& parts) {
  absl::btree_set<std::string> writers;
  absl::btree_set<std::string> untrue;
  v1::JobError first;
  for (const CommittedPart& committed : parts) {
    const absl::StatusOr<env::FileInfo> found = FindPart(storage, staging, committed);
    if (!found.ok() && !absl::IsNotFound(found.status())) {
      return FromStorage(found.status(), "cannot look at a staged part");
    }
    writers.insert(committed.worker);
    if (IsAsTold(found, committed)) continue;
    if (untrue.empty()) first = NotAsTold(staging, committed, found);
    untrue.insert(committed.worker);
  }
  if (untrue.empty()) return absl::OkStatus();
  if (untrue.size() == 1 || untrue.size() < writers.size()) {
    first.set_fault_of(v1::FAULT_OF_WORKER);
  }
  return StatusFromJobError(absl::StatusCode::kDataLoss, first);
}

/// Gives one part its final name. Done already is success: a commit may be repeated.
absl::Status NamePart(env::Storage& storage, const std::string& staging,
                      const CommittedPart& committed) {
  const std::string final_path = PathIn(staging, PartName(committed.index));
  const std::string staged_path =
      PathIn(staging, StagedPartName(committed.index, committed.plan_epoch, committed.attempt));
  absl::StatusOr<bool> staged = Exists(storage, staged_path);
  if (!staged.ok()) return FromStorage(staged.status(), "cannot look at a staged part");
  if (*staged) {
    absl::Status renamed = storage.Rename(staged_path, final_path);
    if (!renamed.ok()) return FromStorage(renamed, "cannot name an output part");
  }
  absl::StatusOr<env::FileInfo> info = storage.Stat(final_path);
  if (IsAsTold(info, committed)) return absl::OkStatus();
  // Changed since it was looked at, and named: no other plan may find it there.
  return StatusFromJobError(absl::StatusCode::kDataLoss, NotAsTold(staging, committed, info));
}

/// Removes what is neither a committed part nor the manifest.
absl::Status DropTheRest(env::Storage& storage, const std::string& staging,
                         const std::vector<v1::OutputPart>& parts) {
  absl::btree_set<std::string> kept{PathIn(staging, kManifestName)};
  for (const v1::OutputPart& part : parts) kept.insert(PathIn(staging, part.file()));
  absl::StatusOr<std::vector<env::FileInfo>> entries = storage.List(staging);
  if (!entries.ok()) return FromStorage(entries.status(), "cannot list the staging directory");
  for (const env::FileInfo& entry : *entries) {
    if (kept.contains(entry.path)) continue;
    absl::Status removed = storage.RemoveAll(entry.path);
    if (!removed.ok()) return FromStorage(removed, "cannot tidy the staging directory");
  }
  return absl::OkStatus();
}

/// An attempt that was given up may still run, and make its part between the tidying and the moment
/// at which the output appears.
void DropLateParts(env::Storage& storage, const std::string& output) {
  const absl::StatusOr<std::vector<std::string>> names = storage.ListNames(output);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!IsStagedPartName(name)) continue;
    if (absl::Status removed = storage.RemoveAll(PathIn(output, name)); !removed.ok()) {
      LogWarning("A part that nobody waited for stays beside the output",
                 {{"file", PathIn(output, name)}, {"reason", removed.message()}});
    }
  }
}

/// Whether a manifest was read, and is another job's or none of ours.
bool IsOfAnother(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsInvalidArgument(status) ||
         absl::IsResourceExhausted(status);
}

// A submission that finds no output between the two renames puts the old one back: each can do so
// once, and there are not that many at one moment.
constexpr int kReplaceTriesMax = 10;

/// Where names cannot be exchanged. A crash between the two renames leaves no output; SettleOutput
/// or RestoreOldOutput puts the old one back.
absl::Status ReplaceByRenames(env::Storage& storage, const OutputPlaces& places) {
  absl::Status renamed;
  for (int tries = 0; tries < kReplaceTriesMax; ++tries) {
    absl::Status aside = storage.Rename(places.output, places.replaced);
    if (!aside.ok()) return FromStorage(aside, "cannot move the old output aside");
    renamed = storage.Rename(places.staging, places.output);
    if (renamed.ok()) return renamed;
    const bool is_back =
        absl::IsAlreadyExists(renamed) && absl::IsNotFound(storage.Stat(places.replaced).status());
    if (!is_back) break;
  }
  if (absl::Status back = storage.Rename(places.replaced, places.output); !back.ok()) {
    LogWarning("The old output cannot be put back; rename it yourself",
               {{"from", places.replaced}, {"to", places.output}, {"reason", back.message()}});
  }
  return FromStorage(renamed, "cannot publish the output");
}

/// The one moment at which the output appears.
absl::Status PutInPlace(env::Storage& storage, const OutputPlaces& places, bool overwrite) {
  absl::StatusOr<bool> exists = Exists(storage, places.output);
  if (!exists.ok()) return FromStorage(exists.status(), "cannot look at the output directory");
  if (!*exists) {
    return FromStorage(storage.Rename(places.staging, places.output), "cannot publish the output");
  }
  if (!overwrite) return OutputExists(places.output);
  const absl::Status exchanged = storage.Exchange(places.staging, places.output);
  if (absl::IsUnimplemented(exchanged)) return ReplaceByRenames(storage, places);
  return FromStorage(exchanged, "cannot exchange the old output for the new one");
}

/// What an overwrite may replace: a directory that can be moved and that nobody else uses.
absl::Status CheckOldOutput(env::Storage& storage, const env::FileInfo& output) {
  if (!output.is_directory) {
    return StatusFromJobError(
        absl::StatusCode::kFailedPrecondition,
        MakeJobError(job_error::kOutputExists,
                     absl::StrCat("output exists and is no directory: ", output.path),
                     "choose a directory; --overwrite replaces directories only"));
  }
  absl::StatusOr<std::vector<std::string>> foreign = ForeignEntries(storage, output.path);
  if (!foreign.ok()) return FromStorage(foreign.status(), "cannot list the old output");
  return foreign->empty() ? absl::OkStatus() : OutputIsForeign(output.path, *foreign);
}

}  // namespace

absl::Status CheckOutput(env::Storage& storage, const v1::JobSpec& spec) {
  const std::string output = OutputPlaces(spec.output(), "").output;
  if (absl::Status name = CheckOutputName(storage, output); !name.ok()) return name;
  absl::StatusOr<env::FileInfo> info = storage.Stat(output);
  if (info.ok()) {
    if (info->is_mount_point) {
      return StatusFromJobError(
          absl::StatusCode::kFailedPrecondition,
          MakeJobError(job_error::kOutputUnusable,
                       absl::StrCat("the output is a mount point, which nothing can take the place "
                                    "of: ",
                                    output),
                       absl::StrCat("name a directory below it, such as ", PathIn(output, "out"))));
    }
    // What is no directory is none to remove, or to overwrite.
    if (!spec.overwrite() && info->is_directory) return OutputExists(output);
    absl::Status old = CheckOldOutput(storage, *info);
    return old.ok() ? ProbeParent(storage, output) : old;
  }
  if (!absl::IsNotFound(info.status())) {
    return FromStorage(info.status(), "cannot look at the output directory");
  }
  const std::string parent = output.substr(0, std::max<std::size_t>(1, output.rfind('/')));
  absl::StatusOr<env::FileInfo> above = storage.Stat(parent);
  if (above.ok() && above->is_directory) return ProbeParent(storage, output);
  if (!above.ok() && !absl::IsNotFound(above.status())) {
    return FromStorage(above.status(), "cannot look at the directory above the output");
  }
  return StatusFromJobError(
      absl::StatusCode::kFailedPrecondition,
      MakeJobError(
          job_error::kInvalidJob,
          absl::StrCat("the directory above the output does not exist: ", parent),
          absl::StrCat("create it (mkdir -p ", ShellPath(parent), "), on the master's machine")));
}

absl::Status StageOutput(env::Storage& storage, const OutputPlaces& places, bool overwrite) {
  absl::StatusOr<bool> exists = Exists(storage, places.output);
  if (!exists.ok()) return FromStorage(exists.status(), "cannot look at the output directory");
  if (*exists && !overwrite) return OutputExists(places.output);
  absl::Status made = storage.MakeDirectory(places.staging);
  if (!made.ok()) return FromStorage(made, "cannot make the staging directory");
  absl::Status marked = storage.WriteFileAtomically(places.marker, "");
  if (!marked.ok()) return FromStorage(marked, "cannot write into the staging directory");
  return ProbeOutput(storage, places, overwrite);
}

absl::StatusOr<std::vector<v1::OutputPart>> CommitOutput(env::Storage& storage,
                                                         const OutputPlaces& places, bool overwrite,
                                                         const ManifestHead& head,
                                                         std::vector<CommittedPart> parts) {
  absl::StatusOr<std::vector<v1::OutputPart>> before =
      PartsPublishedBy(storage, places.output, head.job_id);
  if (before.ok()) {
    RetireOldOutput(storage, places);
    return before;
  }
  if (!IsOfAnother(before.status())) {
    return FromStorage(before.status(), "cannot look at the output");
  }
  std::sort(parts.begin(), parts.end(),
            [](const CommittedPart& a, const CommittedPart& b) { return a.index < b.index; });
  if (absl::Status checked = CheckParts(storage, places.staging, parts); !checked.ok()) {
    return checked;
  }
  std::vector<v1::OutputPart> listed;
  for (const CommittedPart& committed : parts) {
    if (absl::Status named = NamePart(storage, places.staging, committed); !named.ok()) {
      return named;
    }
    listed.push_back(committed.part);
    listed.back().set_file(PartName(committed.index));
  }
  if (absl::Status dropped = DropTheRest(storage, places.staging, listed); !dropped.ok()) {
    return dropped;
  }
  absl::Status written = storage.WriteFileAtomically(PathIn(places.staging, kManifestName),
                                                     ManifestText(head, listed));
  if (!written.ok()) return FromStorage(written, "cannot write the manifest");
  absl::Status synced = storage.SyncDirectory(places.staging);
  if (!synced.ok()) return FromStorage(synced, "cannot sync the staging directory");
  if (absl::Status placed = PutInPlace(storage, places, overwrite); !placed.ok()) return placed;
  DropLateParts(storage, places.output);
  // The new output is in place, whatever becomes of the old one.
  RetireOldOutput(storage, places);
  return listed;
}

absl::Status DiscardOutput(env::Storage& storage, const OutputPlaces& places) {
  absl::Status trial = storage.RemoveAll(TrialDirectory(places.output));
  absl::Status staging = storage.RemoveAll(places.staging);
  return staging.ok() ? trial : staging;
}

absl::StatusOr<std::vector<v1::OutputPart>> SettleOutput(env::Storage& storage,
                                                         const OutputPlaces& places,
                                                         const std::string& job_id) {
  absl::StatusOr<std::vector<v1::OutputPart>> published =
      PartsPublishedBy(storage, places.output, job_id);
  if (published.ok()) {
    RetireOldOutput(storage, places);
    return published;
  }
  // What cannot be looked at may be published, and the staging directory the output of before.
  if (!IsOfAnother(published.status())) return published.status();
  const absl::StatusOr<bool> output = Exists(storage, places.output);
  if (!output.ok()) return output.status();
  const absl::StatusOr<bool> replaced = Exists(storage, places.replaced);
  if (!replaced.ok()) return replaced.status();
  if (!*output && *replaced) {
    absl::Status restored = storage.Rename(places.replaced, places.output);
    if (!restored.ok()) return restored;
  }
  if (absl::Status discarded = DiscardOutput(storage, places); !discarded.ok()) return discarded;
  return absl::NotFoundError(absl::StrCat("job ", job_id, " published no output"));
}

}  // namespace weir::master
