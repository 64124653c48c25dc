#include "runtime/client/commands/metrics_text.h"

#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace weir::client {
namespace {

constexpr std::pair<v1::JobState, const char*> kJobStatesOfMetrics[] = {
    {v1::JOB_STATE_QUEUED, "queued"},   {v1::JOB_STATE_PLANNING, "planning"},
    {v1::JOB_STATE_RUNNING, "running"}, {v1::JOB_STATE_COMMITTING, "committing"},
    {v1::JOB_STATE_ENDING, "ending"},   {v1::JOB_STATE_SUCCEEDED, "succeeded"},
    {v1::JOB_STATE_FAILED, "failed"},   {v1::JOB_STATE_CANCELLED, "cancelled"},
};
constexpr std::pair<v1::WorkerState, const char*> kWorkerStatesOfMetrics[] = {
    {v1::WORKER_STATE_ALIVE, "alive"},
    {v1::WORKER_STATE_DRAINING, "draining"},
    {v1::WORKER_STATE_LEFT, "left"},
    {v1::WORKER_STATE_LOST, "lost"},
};

// Begins a metric: its samples follow, all of them, before another begins.
void AppendHead(absl::string_view name, absl::string_view help, std::string& out) {
  absl::StrAppend(&out, "# HELP ", name, " ", help, "\n# TYPE ", name, " gauge\n");
}

void AppendSample(absl::string_view name, absl::string_view label, absl::string_view label_value,
                  absl::string_view number, std::string& out) {
  absl::StrAppend(&out, name, "{", label, "=\"",
                  absl::StrReplaceAll(label_value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
                  "\"} ", number, "\n");
}

void AppendNumber(absl::string_view name, absl::string_view help, absl::string_view number,
                  std::string& out) {
  AppendHead(name, help, out);
  absl::StrAppend(&out, name, " ", number, "\n");
}

std::string MillisAsSeconds(std::int64_t millis) {
  return absl::StrFormat("%d.%03d", millis / 1000, millis % 1000);
}

bool IsUp(const v1::WorkerStatus& worker) {
  return worker.state() == v1::WORKER_STATE_ALIVE || worker.state() == v1::WORKER_STATE_DRAINING;
}

void AppendJobs(const v1::ListJobsResponse& jobs, std::string& out) {
  std::map<v1::JobState, std::int64_t> num_in;
  const v1::JobStatus* oldest_queued = nullptr;
  const v1::JobStatus* last_succeeded = nullptr;
  for (const v1::JobStatus& job : jobs.jobs()) {
    ++num_in[job.state()];
    if (job.state() == v1::JOB_STATE_QUEUED) oldest_queued = &job;
    if (job.state() == v1::JOB_STATE_SUCCEEDED &&
        (last_succeeded == nullptr || job.ended_unix_ms() > last_succeeded->ended_unix_ms())) {
      last_succeeded = &job;
    }
  }
  AppendHead("weir_jobs", "Jobs that were listed, by state.", out);
  for (const auto& [state, name] : kJobStatesOfMetrics) {
    AppendSample("weir_jobs", "state", name, absl::StrCat(num_in[state]), out);
  }
  AppendNumber("weir_jobs_left_out", "Jobs that were asked for and did not fit the answer.",
               absl::StrCat(jobs.left_out()), out);
  if (oldest_queued != nullptr) {
    AppendNumber("weir_oldest_queued_job_timestamp_seconds",
                 "When the job was submitted that waits for longest.",
                 MillisAsSeconds(oldest_queued->submitted_unix_ms()), out);
  }
  if (last_succeeded == nullptr) return;
  AppendNumber("weir_job_end_timestamp_seconds", "When the last job ended that succeeded.",
               MillisAsSeconds(last_succeeded->ended_unix_ms()), out);
  AppendNumber("weir_job_makespan_seconds", "What that job took, from its plan to its result.",
               absl::StrFormat("%.6f", last_succeeded->actual_makespan_s()), out);
  // A job that another version of the master remembers may have a plan without a prediction.
  if (last_succeeded->predicted_makespan_s() <= 0) return;
  AppendNumber("weir_plan_predicted_makespan_seconds", "What its plan predicted.",
               absl::StrFormat("%.6f", last_succeeded->predicted_makespan_s()), out);
}

// One gauge of each worker that is up.
template <typename Number>
void AppendOfWorkers(absl::string_view name, absl::string_view help,
                     const v1::ListWorkersResponse& workers, const Number& number,
                     std::string& out) {
  AppendHead(name, help, out);
  for (const v1::WorkerStatus& worker : workers.workers()) {
    if (!IsUp(worker)) continue;
    AppendSample(name, "worker", worker.identity().name(), number(worker), out);
  }
}

void AppendWorkers(const v1::ListWorkersResponse& workers, std::string& out) {
  std::map<v1::WorkerState, std::int64_t> num_in;
  for (const v1::WorkerStatus& worker : workers.workers()) ++num_in[worker.state()];
  AppendHead("weir_workers", "Workers that the master knows, by state.", out);
  for (const auto& [state, name] : kWorkerStatesOfMetrics) {
    AppendSample("weir_workers", "state", name, absl::StrCat(num_in[state]), out);
  }
  AppendHead("weir_worker_up", "1: alive or draining; 0: lost, or it left.", out);
  for (const v1::WorkerStatus& worker : workers.workers()) {
    AppendSample("weir_worker_up", "worker", worker.identity().name(), IsUp(worker) ? "1" : "0",
                 out);
  }
  AppendOfWorkers(
      "weir_worker_slots", "Slots of a worker that is up.", workers,
      [](const v1::WorkerStatus& worker) { return absl::StrCat(worker.profile().slots()); }, out);
  AppendOfWorkers(
      "weir_worker_free_disk_bytes", "Room in the work directory of a worker that is up.", workers,
      [](const v1::WorkerStatus& worker) {
        return absl::StrCat(worker.profile().free_disk_bytes());
      },
      out);
  AppendOfWorkers(
      "weir_worker_heartbeat_age_seconds", "Since the master heard of a worker that is up.",
      workers,
      [](const v1::WorkerStatus& worker) {
        return absl::StrFormat("%.3f", worker.seconds_since_heartbeat());
      },
      out);
}

}  // namespace

std::string MetricsText(const v1::ListJobsResponse& jobs, const v1::ListWorkersResponse& workers,
                        absl::string_view version) {
  std::string out;
  AppendHead("weir_build_info", "The program that asked; always 1.", out);
  AppendSample("weir_build_info", "version", version, "1", out);
  AppendJobs(jobs, out);
  AppendWorkers(workers, out);
  return out;
}

}  // namespace weir::client
