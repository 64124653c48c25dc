#include "runtime/worker/work_directory.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "runtime/base/log.h"
#include "runtime/worker/held_records.h"

namespace weir::worker {
namespace {

constexpr char kLockName[] = "/lock";
constexpr char kJobsName[] = "/jobs";

// Names often are host:port; whatever is not plain becomes '_', so that a name is one path
// component.
std::string PlainName(absl::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return plain;
}

// What was written down of published runs goes on in the daemon's new directory.
void TakeHeldJobs(env::Storage& storage, const std::string& from, const std::string& to) {
  const auto jobs = storage.List(absl::StrCat(from, kJobsName));
  if (!jobs.ok()) return;
  for (const env::FileInfo& job : *jobs) {
    if (!HasHeldRecords(storage, job.path)) continue;
    const std::string name = job.path.substr(job.path.rfind('/') + 1);
    const absl::Status taken = storage.Rename(job.path, absl::StrCat(to, kJobsName, "/", name));
    if (!taken.ok()) {
      LogWarning("Runs of an earlier life are not kept", {{"job", name}, {"why", taken.message()}});
    }
  }
}

absl::string_view WhyNotTaken(env::Privacy privacy) {
  switch (privacy) {
    case env::Privacy::kPrivate:
      break;
    case env::Privacy::kOpen:
      return "other users may enter it, or its file system keeps no modes";
    case env::Privacy::kForeign:
      return "it belongs to another user";
    case env::Privacy::kNoDirectory:
      return "it is a symbolic link or a file";
  }
  return "";
}

bool IsOurs(env::Privacy privacy) {
  return privacy == env::Privacy::kPrivate || privacy == env::Privacy::kOpen;
}

// Removes a directory whose lock is held, by its own name alone: RemoveAll follows no link that
// somebody puts in its place, as a path to what lies in it would be followed. The lock is given up
// once nothing is in it that another daemon could take: where a file that is removed while it is
// open keeps a place under another name (FUSE, NFS), its directory could not go.
absl::Status RemoveLocked(env::Storage& storage, const std::string& path,
                          std::unique_ptr<env::FileLock> lock) {
  absl::Status status = storage.RemoveAll(path);
  if (status.ok()) return status;
  if (!absl::IsNotFound(storage.Stat(absl::StrCat(path, kJobsName)).status())) return status;
  lock.reset();
  status = storage.RemoveAll(path);
  // FUSE may hear of the closed lock a moment later.
  return status.ok() ? status : storage.RemoveAll(path);
}

// Takes jobs out of the directory `path` if `to` is given, and removes it, if its daemon is dead.
//
// In /tmp anybody can make a directory of this name, and exchange it at any moment. So whose it is,
// is asked first, before anything in it is opened, and another user's stays as it is; and again
// once it is locked: an earlier one may have been removed by another life of this daemon and made
// anew by somebody else. Locked, one's own stays what it is: no other daemon removes it, and where
// it can be renamed only by its owner (a sticky directory above) or by nobody else at all (one's
// own) nothing takes its place; into a private one nobody else may write either. In any other
// directory above, this daemon's own could be exchanged as well.
void TakeOrRemove(env::Storage& storage, const std::string& path, bool unnamed,
                  const std::optional<std::string>& to) {
  const absl::StatusOr<env::Privacy> privacy = storage.PrivacyOf(path);
  if (!privacy.ok()) {
    if (!absl::IsNotFound(privacy.status())) {
      LogWarning("Old work directory not removed", {{"error", privacy.status().message()}});
    }
    return;
  }
  if (to && *privacy != env::Privacy::kPrivate) {
    LogWarning("Runs in an old work directory are not kept",
               {{"directory", path}, {"why", WhyNotTaken(*privacy)}});
  }
  if (!IsOurs(*privacy)) return;
  // Its daemon makes the lock, locks it, and then makes the directory of jobs: before that, a lock
  // nobody holds is one that is about to be held.
  if (unnamed && !storage.Stat(absl::StrCat(path, kJobsName)).ok()) return;
  auto lock = storage.TakeLock(absl::StrCat(path, kLockName));
  // A directory that got its name had its lock first: without one, its removal was cut short.
  if (!lock.ok() && (unnamed || !absl::IsNotFound(lock.status()))) return;
  const absl::StatusOr<env::Privacy> now = storage.PrivacyOf(path);
  if (!now.ok() || !IsOurs(*now)) return;
  const bool is_private = *privacy == env::Privacy::kPrivate && *now == env::Privacy::kPrivate;
  if (to && lock.ok() && is_private) TakeHeldJobs(storage, path, *to);
  if (absl::Status status =
          lock.ok() ? RemoveLocked(storage, path, *std::move(lock)) : storage.RemoveAll(path);
      !status.ok()) {
    LogWarning("Old work directory not removed", {{"error", status.message()}});
  } else {
    LogInfo("Old work directory removed", {{"path", path}});
  }
}

void RemoveStale(env::Storage& storage, const std::string& work_dir, const std::string& prefix,
                 const std::string& own, LeftRuns runs) {
  // By name: what others link to beside them may not be looked up.
  const auto names = storage.ListNames(work_dir);
  if (!names.ok()) {
    LogWarning("Work directory not searched for old ones", {{"error", names.status().message()}});
    return;
  }
  for (const std::string& name : *names) {
    absl::string_view rest = name;
    const bool unnamed = absl::ConsumePrefix(&rest, ".");
    // The incarnation is the last part: a worker "a" must not take the directory of worker "a-b".
    if (rest == own || !absl::ConsumePrefix(&rest, prefix) || absl::StrContains(rest, '-')) {
      continue;
    }
    const bool takes = runs == LeftRuns::kTaken && !unnamed;
    TakeOrRemove(storage, absl::StrCat(work_dir, "/", name), unnamed,
                 takes ? std::optional(absl::StrCat(work_dir, "/", own)) : std::nullopt);
  }
}

}  // namespace

absl::StatusOr<WorkDirectory> WorkDirectory::Claim(env::Storage& storage,
                                                   const std::string& work_dir,
                                                   const std::string& name,
                                                   const std::string& incarnation, LeftRuns runs) {
  if (name.empty()) return absl::InvalidArgumentError("a worker needs a name");
  if (absl::Status usable = Check(storage, work_dir); !usable.ok()) return usable;
  const std::string prefix = absl::StrCat("weir-worker-", PlainName(name), "-");
  const std::string own = absl::StrCat(prefix, incarnation);
  const std::string path = absl::StrCat(work_dir, "/", own);
  // Locked before it gets its name: else a daemon of the same name that starts now would take it
  // for stale.
  const std::string unnamed = absl::StrCat(work_dir, "/.", own);
  if (absl::Status status = storage.MakeDirectory(unnamed); !status.ok()) return status;
  // Users' data goes here, and the parent often is /tmp.
  if (absl::Status status = storage.MakePrivate(unnamed); !status.ok()) return status;
  auto lock = storage.MakeLock(absl::StrCat(unnamed, kLockName));
  absl::Status status = lock.status();
  // After the lock is held: TakeOrRemove goes by it.
  if (status.ok()) status = storage.MakeDirectory(absl::StrCat(unnamed, kJobsName));
  if (status.ok()) status = storage.Rename(unnamed, path);
  if (!status.ok()) {
    storage.RemoveAll(unnamed).IgnoreError();
    return status;
  }
  RemoveStale(storage, work_dir, prefix, own, runs);
  return WorkDirectory(path, *std::move(lock));
}

absl::StatusOr<std::optional<WorkDirectory>> WorkDirectory::ClaimIfGone(
    env::Storage& storage, const std::string& path, const std::string& work_dir,
    const std::string& name, const std::string& incarnation) {
  // A cleaner may take the lock and leave directories, or the other way round.
  for (const char* entry : {kLockName, kJobsName}) {
    const absl::Status there = storage.Stat(absl::StrCat(path, entry)).status();
    if (!absl::IsNotFound(there)) continue;
    storage.RemoveAll(path).IgnoreError();
    absl::StatusOr<WorkDirectory> claimed =
        Claim(storage, work_dir, name, incarnation, LeftRuns::kRemoved);
    if (!claimed.ok()) return claimed.status();
    return std::optional<WorkDirectory>(*std::move(claimed));
  }
  return std::optional<WorkDirectory>();
}

absl::Status WorkDirectory::Check(env::Storage& storage, const std::string& work_dir) {
  const auto found = storage.Stat(work_dir);
  constexpr char kAdvice[] = "or choose another with --work-dir";
  if (absl::IsNotFound(found.status())) {
    return absl::NotFoundError(
        absl::StrCat("the work directory ", work_dir, " does not exist: make it, ", kAdvice));
  }
  if (found.ok() && !found->is_directory) {
    return absl::FailedPreconditionError(
        absl::StrCat("the work directory ", work_dir, " is no directory: move it away, ", kAdvice));
  }
  if (absl::IsPermissionDenied(found.status()) || !storage.MayWriteIn(work_dir)) {
    return absl::PermissionDeniedError(
        absl::StrCat("this user cannot write to the work directory ", work_dir,
                     ": open it to them, mount its file system for writing, ", kAdvice));
  }
  return found.status();
}

absl::Status WorkDirectory::Remove(env::Storage& storage) {
  return RemoveLocked(storage, path_, std::move(lock_));
}

}  // namespace weir::worker
