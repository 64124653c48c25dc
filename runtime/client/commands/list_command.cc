// weir list jobs, weir list workers, weir list metrics.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/commands/metrics_text.h"
#include "runtime/client/flags/value_text.h"
#include "runtime/client/progress.h"
#include "runtime/client/status_json.h"

namespace weir::client {
namespace {

// A long queue is to be seen whole, and a job that failed long ago to be found: more than a list
// for people has is none too many to look through.
constexpr int kJobsLookedThrough = 1000;

// "" is any state, "unfinished" each that is not the last; else as in JSON.
bool IsInState(const v1::JobStatus& job, const std::string& state) {
  if (state.empty()) return true;
  if (state == "unfinished") return !IsTerminal(job.state());
  return absl::AsciiStrToLower(v1::JobState_Name(job.state())) == absl::StrCat("job_state_", state);
}

void KeepJobsInState(const std::string& state, v1::ListJobsResponse& list) {
  auto& jobs = *list.mutable_jobs();
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(),
                            [&](const v1::JobStatus& job) { return !IsInState(job, state); }),
             jobs.end());
}

int ListJobs(const ListOptions& options, Session& session, CommandHost& host) {
  v1::ListJobsRequest request;
  request.set_max_jobs(options.max_jobs > 0 || options.state.empty() ? options.max_jobs
                                                                     : kJobsLookedThrough);
  auto response = Ask<rpc::ListJobs>(session, std::move(request));
  if (!response.ok()) return ReportCallError(response.status(), options.json, host);
  KeepJobsInState(options.state, *response);
  if (options.json) {
    nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
    for (const auto& job : response->jobs()) jobs.push_back(JobToJson(job));
    nlohmann::ordered_json document = {{"jobs", jobs}};
    if (response->left_out() > 0) document["left_out"] = response->left_out();
    host.out << JsonDocument(document);
    return kExitOk;
  }
  host.out << absl::StrFormat("%-26s %-12s %-18s %-21s %s\n", "JOB-ID", "JOB", "STATE", "SUBMITTED",
                              "OUTPUT");
  for (const auto& job : response->jobs()) {
    host.out << absl::StrFormat("%-26s %-12s %-18s %-21s %s\n", job.job_id(),
                                EscapeControls(job.spec().job()), PhaseName(job),
                                FormatUnixMillis(job.submitted_unix_ms()),
                                EscapeControls(job.spec().output()));
  }
  if (response->left_out() > 0) {
    host.err
        << "weir: " << FormatCount(response->left_out())
        << " more would not fit one answer and are left out; of one of them: weir status JOB\n";
  }
  return kExitOk;
}

// What was not measured, or is not known, is 0.
std::string OrDash(double value, std::string text) { return value > 0 ? std::move(text) : "-"; }

const char* StateText(v1::WorkerState state) {
  if (state == v1::WORKER_STATE_ALIVE) return "alive";
  if (state == v1::WORKER_STATE_DRAINING) return "draining";
  return state == v1::WORKER_STATE_LEFT ? "left" : "lost";
}

// The limit given to a task process, else what the machine had free at the worker's start.
std::string MemoryText(const v1::WorkerProfile& profile) {
  const auto bytes = static_cast<double>(
      profile.memory_bytes() > 0 ? profile.memory_bytes() : profile.available_memory_bytes());
  return OrDash(bytes, FormatBytes(bytes));
}

// What the master says of the worker that has to be alive.
ExitCode CheckAlive(const std::string& name, const v1::ListWorkersResponse& response,
                    CommandHost& host) {
  if (name.empty()) return kExitOk;
  const v1::WorkerStatus* last = nullptr;
  for (const auto& worker : response.workers()) {
    if (worker.identity().name() != name) continue;
    if (worker.state() == v1::WORKER_STATE_ALIVE) return kExitOk;
    last = &worker;
  }
  std::string what = "not registered with this master";
  if (last != nullptr && last->state() == v1::WORKER_STATE_DRAINING) {
    what = "draining: it ends what it has in hand and leaves";
  } else if (last != nullptr) {
    what =
        absl::StrCat(last->state() == v1::WORKER_STATE_LEFT ? "gone: it left" : "lost",
                     ", last heard from ", FormatSeconds(last->seconds_since_heartbeat()), " ago");
  }
  host.err << "weir: worker '" << name << "' is " << what << '\n';
  return kExitRefused;
}

int ListWorkers(const ListOptions& options, Session& session, CommandHost& host) {
  const auto response = Ask<rpc::ListWorkers>(session, {});
  if (!response.ok()) return ReportCallError(response.status(), options.json, host);
  const ExitCode alive = CheckAlive(options.alive, *response, host);
  if (options.json) {
    nlohmann::ordered_json workers = nlohmann::ordered_json::array();
    for (const auto& worker : response->workers()) workers.push_back(WorkerToJson(worker));
    host.out << JsonDocument({{"workers", workers}});
    return alive;
  }
  host.out << absl::StrFormat("%-24s %-6s %5s %7s %10s %10s %15s %7s %11s %-12s %-22s %s\n",
                              "WORKER", "STATE", "SLOTS", "COMPUTE", "MEMORY", "DISK FREE",
                              "DISK W/R MB/s", "START", "PORT", "RACK", "DATA ENDPOINT",
                              "HEARD FROM");
  for (const auto& worker : response->workers()) {
    const auto& profile = worker.profile();
    host.out << absl::StrFormat(
        "%-24s %-6s %5d %7s %10s %10s %15s %7s %11s %-12s %-22s %s ago%s\n",
        worker.identity().name(), StateText(worker.state()), profile.slots(),
        OrDash(profile.compute_rate(), absl::StrFormat("%.2f", profile.compute_rate())),
        MemoryText(profile), FormatBytes(static_cast<double>(profile.free_disk_bytes())),
        OrDash(profile.disk_write_bytes_per_s(),
               absl::StrFormat("%.0f/%.0f", profile.disk_write_bytes_per_s() / 1e6,
                               profile.disk_read_bytes_per_s() / 1e6)),
        OrDash(profile.task_start_s(), FormatSeconds(profile.task_start_s())),
        OrDash(profile.port_bytes_per_s(), FormatRate(profile.port_bytes_per_s())),
        profile.rack().empty() ? "-" : profile.rack(), worker.identity().data_endpoint(),
        FormatSeconds(worker.seconds_since_heartbeat()),
        worker.left_because().empty() ? ""
                                      : absl::StrCat(": ", EscapeControls(worker.left_because())));
  }
  return alive;
}

int ListMetrics(const ListOptions& options, Session& session, CommandHost& host) {
  v1::ListJobsRequest request;
  request.set_max_jobs(options.max_jobs > 0 ? options.max_jobs : kJobsLookedThrough);
  const auto jobs = Ask<rpc::ListJobs>(session, std::move(request));
  if (!jobs.ok()) return ReportCallError(jobs.status(), options.json, host);
  const auto workers = Ask<rpc::ListWorkers>(session, {});
  if (!workers.ok()) return ReportCallError(workers.status(), options.json, host);
  host.out << MetricsText(*jobs, *workers, kVersion);
  return kExitOk;
}

}  // namespace

int List(const ListOptions& options, CommandHost& host) {
  if (options.json && options.what == ListOptions::What::kMetrics) {
    return ReportCallError(
        absl::InvalidArgumentError("metrics are text in the format of Prometheus; as JSON there "
                                   "are: weir list jobs --json, weir list workers --json"),
        options.json, host);
  }
  if (!options.alive.empty() && options.what != ListOptions::What::kWorkers) {
    return ReportCallError(
        absl::InvalidArgumentError(
            absl::StrCat("--alive asks about a worker: weir list workers --alive ", options.alive)),
        options.json, host);
  }
  if (!options.state.empty() && options.what != ListOptions::What::kJobs) {
    return ReportCallError(
        absl::InvalidArgumentError(absl::StrCat(
            "--state asks for jobs in a state: weir list jobs --state ", options.state)),
        options.json, host);
  }
  auto session = host.connect(options.master);
  if (!session.ok()) return ReportCallError(session.status(), options.json, host);
  switch (options.what) {
    case ListOptions::What::kJobs:
      return ListJobs(options, **session, host);
    case ListOptions::What::kWorkers:
      return ListWorkers(options, **session, host);
    case ListOptions::What::kMetrics:
      return ListMetrics(options, **session, host);
  }
  return kExitInternal;
}

}  // namespace weir::client
