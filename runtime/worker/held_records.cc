#include "runtime/worker/held_records.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/artifacts/sha256.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/run_id.h"
#include "runtime/worker/held_runs.h"

namespace weir::worker {
namespace {

constexpr std::size_t kHashBytes = 64;

std::string HashOf(std::string_view bytes) {
  Sha256Stream hash;
  hash.Update(bytes);
  return hash.Finish();
}

std::string LastName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

absl::StatusOr<v1::HeldRecord> ReadRecord(env::Storage& storage, const std::string& path) {
  absl::StatusOr<std::string> content = storage.ReadFile(path, limits::kMessageBytesMax);
  if (!content.ok()) return content.status();
  const std::string_view bytes = *content;
  v1::HeldRecord record;
  const bool whole = bytes.size() >= kHashBytes &&
                     HashOf(bytes.substr(kHashBytes)) == bytes.substr(0, kHashBytes) &&
                     record.ParseFromString(std::string(bytes.substr(kHashBytes)));
  if (whole) return record;
  return absl::DataLossError(absl::StrCat(path, " is not what was written"));
}

bool SectionsLieIn(const v1::RunInfo& run) {
  return std::all_of(
      run.sections().begin(), run.sections().end(), [&run](const v1::RunSection& section) {
        return section.offset() >= 0 && section.bytes() >= 0 && section.offset() <= run.bytes() &&
               section.bytes() <= run.bytes() - section.offset();
      });
}

/// The run that a record speaks of, where it is now.
absl::StatusOr<v1::HeldRun> WholeRun(env::Storage& storage, const JobPaths& paths,
                                     const v1::HeldRecord& record, const std::string& job_id,
                                     const std::string& run_id, const RunCheck& check) {
  const v1::HeldJob& job = record.job();
  if (job.job_id() != job_id || job.runs_size() != 1) {
    return absl::DataLossError(absl::StrCat("the record of run ", run_id, " is of another job"));
  }
  v1::HeldRun run = job.runs(0);
  v1::RunInfo& info = *run.mutable_result()->mutable_run();
  if (info.run_id() != run_id || RunIdOf(run.result().step(), run.attempt()) != run_id) {
    return absl::DataLossError(absl::StrCat("the record of run ", run_id, " is of another run"));
  }
  info.set_path(paths.OwnRun(run_id));
  const absl::StatusOr<env::FileInfo> file = storage.Stat(info.path());
  if (!file.ok()) return file.status();
  if (!SectionsLieIn(info)) {
    return absl::DataLossError(absl::StrCat("the sections of run ", run_id, " are not in it"));
  }
  if (file->bytes != info.bytes()) {
    return absl::DataLossError(
        absl::StrCat(info.path(), " has ", file->bytes, " bytes, not ", info.bytes()));
  }
  const bool same_start = record.machine() != 0 && record.machine() == file->version.machine;
  if (same_start) return run;
  if (!check) return absl::UnavailableError("nobody can check it after a restart of the machine");
  absl::Status checked = check(info);
  return checked.ok() ? absl::StatusOr<v1::HeldRun>(std::move(run)) : checked;
}

/// None: no run of the job is whole, or what lies beside them stays.
std::optional<v1::HeldJob> FindHeldJob(env::Storage& storage, const JobPaths& paths,
                                       const std::string& job_id, const RunCheck& check) {
  const absl::StatusOr<std::vector<env::FileInfo>> files = storage.List(paths.runs);
  if (!files.ok()) return std::nullopt;
  absl::btree_map<std::pair<std::int64_t, std::int64_t>, v1::HeldJob> by_plan;
  for (const env::FileInfo& file : *files) {
    if (!absl::EndsWith(file.path, kHeldRecordSuffix)) continue;
    std::string run_id = LastName(file.path);
    run_id.resize(run_id.size() - std::string_view(kHeldRecordSuffix).size());
    const absl::StatusOr<v1::HeldRecord> record = ReadRecord(storage, file.path);
    const absl::StatusOr<v1::HeldRun> run =
        record.ok() ? WholeRun(storage, paths, *record, job_id, run_id, check) : record.status();
    if (!run.ok()) {
      LogWarning("A run of an earlier life is not kept",
                 {{"job", job_id}, {"run", run_id}, {"why", run.status().message()}});
      continue;
    }
    const std::pair plan{record->job().master_epoch(), record->job().plan_epoch()};
    v1::HeldJob& held = by_plan[plan];
    if (held.runs_size() == 0) {
      held = record->job();
      held.clear_runs();
    }
    *held.add_runs() = *run;
  }
  if (by_plan.empty()) return std::nullopt;
  v1::HeldJob last = std::move(by_plan.rbegin()->second);
  if (absl::Status alone = KeepOnly(storage, paths, HeldRuns(last)); !alone.ok()) {
    LogWarning("Runs of an earlier life are not kept", {{"job", job_id}, {"why", alone.message()}});
    return std::nullopt;
  }
  return last;
}

}  // namespace

absl::Status WriteHeldRecords(env::Storage& storage, const JobPaths& paths,
                              const v1::HeldJob& held) {
  const absl::StatusOr<env::FileInfo> place = storage.Stat(paths.runs);
  if (!place.ok()) return place.status();
  v1::HeldRecord record;
  record.set_machine(place->version.machine);
  *record.mutable_job() = held;
  for (const v1::HeldRun& run : held.runs()) {
    record.mutable_job()->clear_runs();
    *record.mutable_job()->add_runs() = run;
    const std::string bytes = record.SerializeAsString();
    absl::Status written = storage.WriteFile(paths.HeldRecord(run.result().run().run_id()),
                                             absl::StrCat(HashOf(bytes), bytes));
    if (!written.ok()) return written;
  }
  return absl::OkStatus();
}

bool HasHeldRecords(env::Storage& storage, const std::string& job_root) {
  const absl::StatusOr<std::vector<std::string>> names =
      storage.ListNames(absl::StrCat(job_root, "/runs"));
  if (!names.ok()) return false;
  for (const std::string& name : *names) {
    if (absl::EndsWith(name, kHeldRecordSuffix)) return true;
  }
  return false;
}

absl::btree_map<std::string, v1::HeldJob> FindHeldJobs(env::Storage& storage,
                                                       const std::string& worker_directory,
                                                       const RunCheck& check) {
  absl::btree_map<std::string, v1::HeldJob> found;
  const absl::StatusOr<std::vector<env::FileInfo>> jobs =
      storage.List(absl::StrCat(worker_directory, "/jobs"));
  if (!jobs.ok()) return found;
  for (const env::FileInfo& job : *jobs) {
    const std::string id = LastName(job.path);
    if (auto held = FindHeldJob(storage, MakeJobPaths(worker_directory, id), id, check)) {
      found[id] = *std::move(held);
    } else if (absl::Status removed = storage.RemoveAll(job.path); !removed.ok()) {
      LogWarning("What an earlier life left of a job is not removed",
                 {{"job", id}, {"error", removed.message()}});
      found[id].set_job_id(id);
    }
  }
  return found;
}

}  // namespace weir::worker
