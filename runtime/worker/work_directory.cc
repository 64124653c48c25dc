#include "runtime/worker/work_directory.h"

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

void RemoveStale(env::Storage& storage, const std::string& work_dir, const std::string& prefix,
                 const std::string& own, LeftRuns runs) {
  const auto entries = storage.List(work_dir);
  if (!entries.ok()) {
    LogWarning("Work directory not searched for old ones", {{"error", entries.status().message()}});
    return;
  }
  for (const env::FileInfo& entry : *entries) {
    const std::string name = entry.path.substr(entry.path.rfind('/') + 1);
    absl::string_view rest = name;
    const bool unnamed = absl::ConsumePrefix(&rest, ".");
    // The incarnation is the last part: a worker "a" must not take the directory of worker "a-b".
    if (!entry.is_directory || rest == own || !absl::ConsumePrefix(&rest, prefix) ||
        absl::StrContains(rest, '-')) {
      continue;
    }
    const std::string path = absl::StrCat(work_dir, "/", name);
    const auto lock = storage.TakeLock(absl::StrCat(path, kLockName));
    // A directory that got its name had its lock first: without one, its removal was cut short.
    if (!lock.ok() && (unnamed || !absl::IsNotFound(lock.status()))) continue;
    if (runs == LeftRuns::kTaken && lock.ok() && !unnamed) {
      TakeHeldJobs(storage, path, absl::StrCat(work_dir, "/", own));
    }
    if (absl::Status status = storage.RemoveAll(path); !status.ok()) {
      LogWarning("Old work directory not removed", {{"error", status.message()}});
    } else {
      LogInfo("Old work directory removed", {{"path", path}});
    }
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
    return absl::PermissionDeniedError(absl::StrCat("this user cannot write to the work directory ",
                                                    work_dir, ": open it to them, ", kAdvice));
  }
  return found.status();
}

absl::Status WorkDirectory::Remove(env::Storage& storage) {
  // The lock goes last, so that a removal cut short can be finished by the next daemon.
  absl::Status status = storage.RemoveAll(absl::StrCat(path_, kJobsName));
  if (status.ok()) status = storage.RemoveAll(path_);
  lock_.reset();
  return status;
}

}  // namespace weir::worker
