#include "runtime/worker/held_runs.h"

#include <array>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::worker {

HeldRuns::HeldRuns(const v1::HeldJob& earlier) {
  for (const v1::HeldRun& run : earlier.runs()) runs_[run.result().run().run_id()] = run;
}

void HeldRuns::ForgetEdits() {
  for (auto& [id, run] : runs_) run.set_plan_edit(0);
}

bool HeldRuns::Add(const v1::Fence& fence, const v1::StepResult& result) {
  if (!result.has_run() || result.has_error()) return false;
  v1::HeldRun& run = runs_[result.run().run_id()];
  run.set_attempt(fence.attempt());
  run.set_plan_edit(fence.plan_edit());
  *run.mutable_result() = result;
  return true;
}

namespace {

v1::HeldJob Of(const v1::Fence& fence) {
  v1::HeldJob job;
  job.set_job_id(fence.job_id());
  job.set_master_epoch(fence.master_epoch());
  job.set_plan_epoch(fence.plan_epoch());
  return job;
}

}  // namespace

v1::HeldJob HeldRuns::Tell(const v1::Fence& fence) const {
  v1::HeldJob job = Of(fence);
  for (const auto& [id, run] : runs_) *job.add_runs() = run;
  return job;
}

v1::HeldJob HeldRuns::Tell(const v1::Fence& fence, const std::string& run_id) const {
  v1::HeldJob job = Of(fence);
  *job.add_runs() = runs_.at(run_id);
  return job;
}

bool IsOfPlan(const v1::HeldJob& held, const v1::KeptPlan& plan) {
  return held.master_epoch() == plan.master_epoch() && held.plan_epoch() == plan.plan_epoch();
}

int LeaveWhatFits(absl::btree_map<std::string, v1::HeldJob>& jobs, std::size_t bytes_max) {
  constexpr std::size_t kFramingBytes = 8;  // tag and length, at most
  std::size_t bytes = 0;
  int left_out = 0;
  for (auto entry = jobs.rbegin(); entry != jobs.rend(); ++entry) {
    v1::HeldJob& job = entry->second;
    google::protobuf::RepeatedPtrField<v1::HeldRun> runs;
    runs.Swap(job.mutable_runs());
    // Its length is that of all its runs; without any it is not told.
    std::size_t bytes_of_job = job.ByteSizeLong() + kFramingBytes;
    for (v1::HeldRun& run : runs) {
      const std::size_t bytes_of_run = run.ByteSizeLong() + kFramingBytes;
      if (bytes + bytes_of_job + bytes_of_run > bytes_max) {
        ++left_out;
        continue;
      }
      bytes_of_job += bytes_of_run;
      *job.add_runs() = std::move(run);
    }
    if (job.runs_size() > 0) bytes += bytes_of_job;
  }
  absl::erase_if(jobs, [](const auto& entry) { return entry.second.runs_size() == 0; });
  return left_out;
}

absl::Status KeepOnly(env::Storage& storage, const JobPaths& paths, const HeldRuns& held) {
  const std::array<const std::string*, 3> others = {&paths.received, &paths.task, &paths.archives};
  for (const std::string* other : others) {
    if (absl::Status removed = storage.RemoveAll(*other); !removed.ok()) return removed;
  }
  std::set<std::string> kept;
  for (const auto& [id, run] : held.runs()) {
    kept.insert(paths.OwnRun(id));
    kept.insert(paths.Spec(id));
    kept.insert(paths.HeldRecord(id));
  }
  const absl::StatusOr<std::vector<env::FileInfo>> files = storage.List(paths.runs);
  if (!files.ok()) return files.status();
  for (const env::FileInfo& file : *files) {
    if (kept.contains(file.path)) continue;
    if (absl::Status removed = storage.RemoveAll(file.path); !removed.ok()) return removed;
  }
  return absl::OkStatus();
}

absl::Status CheckThere(env::Storage& storage, const HeldRuns& held) {
  for (const auto& [id, run] : held.runs()) {
    const v1::RunInfo& info = run.result().run();
    const absl::StatusOr<env::FileInfo> file = storage.Stat(info.path());
    if (!file.ok() && !absl::IsNotFound(file.status())) return file.status();
    if (file.ok() && file->bytes == info.bytes()) continue;
    return absl::DataLossError(absl::StrCat(
        "run ", id, " that was kept has ", file.ok() ? absl::StrCat(file->bytes, " bytes") : "gone",
        ", not ", info.bytes(), " bytes: ", info.path()));
  }
  return absl::OkStatus();
}

}  // namespace weir::worker
