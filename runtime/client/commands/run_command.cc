// weir run, weir submit: the same job, here or on a cluster.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "planner/explain/readable.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/absence/master_absence.h"
#include "runtime/client/ask_again.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/check_places.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/commands/plan_answer.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/flags/value_text.h"
#include "runtime/client/follow_job.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/plan_file.h"
#include "runtime/client/plan_pictures.h"
#include "runtime/client/progress.h"
#include "runtime/client/result_preview.h"
#include "runtime/client/ship/module_job.h"
#include "runtime/client/ship/shipped_files.h"
#include "runtime/client/status_json.h"
#include "runtime/rpc/wire_version.h"

namespace weir::client {
namespace {

// Whether a master is there at all. Patience is for one that went away, not for a wrong address.
absl::Status Reach(Session& session, MasterAbsence& absence, CommandHost& host) {
  const auto answer = AskAgain<rpc::GetStatus>(session, {}, "submit the job again", absence, host);
  // Any answer will do: there is no job without an id.
  const bool left = absl::IsCancelled(answer.status());
  return left || MasterAbsence::IsAway(answer.status()) ? answer.status() : absl::OkStatus();
}

absl::StatusOr<std::string> SubmitJob(const JobOptions& job, const ModuleJob& module,
                                      const MasterGrace& grace, Session& session,
                                      CommandHost& host) {
  v1::SubmitRequest request;
  rpc::StampWireVersion(request);
  *request.mutable_spec() = MakeJobSpec(job, host);
  absl::Status harmless = CheckOverwrite(request.spec(), host.working_directory);
  if (!harmless.ok()) return harmless;
  absl::Status planned = AddPlanFile(job, host, *request.mutable_spec());
  if (!planned.ok()) return planned;
  MasterAbsence absence(grace, /*reached=*/false, absl::ZeroDuration(), host.random);
  if (absl::Status there = Reach(session, absence, host); !there.ok()) return there;
  absl::Status sent = AddModule(module, session, absence, host, *request.mutable_spec());
  if (sent.ok()) sent = AddShippedFiles(job, session, absence, host, *request.mutable_spec());
  if (!sent.ok()) return sent;
  // The key of the job tells a master that is asked twice that it is the same one.
  auto response = AskAgain<rpc::Submit>(
      session, request,
      absl::StrCat("whether it took the job says: weir list --master ", session.master_name()),
      absence, host);
  if (!response.ok()) return response.status();
  return response->job_id();
}

// What can be told before anything is started.
absl::Status CheckBefore(const JobOptions& job, const PictureOptions& pictures, CommandHost& host) {
  absl::Status sound = CheckPlaces(job);
  sound.Update(ReducersOf(job).status());
  sound.Update(CheckPictures(pictures, job, host));
  sound.Update(CheckShippedFiles(job, host));
  return sound;
}

std::vector<std::string> PartPaths(const v1::JobStatus& status) {
  std::vector<std::string> parts;
  for (const auto& part : status.parts()) {
    parts.push_back(absl::StrCat(status.spec().output(), "/", part.file()));
  }
  return parts;
}

// What only the job knows how to show, on stdout; else, for people, the first rows on stderr.
absl::Status PresentResult(const JobOptions& job, const ModuleJob& module,
                           const v1::JobStatus& status, bool quiet, CommandHost& host) {
  constexpr int kRowsShown = 5;
  const std::vector<std::string> parts = PartPaths(status);
  bool rows_shown = false;
  std::string text;
  absl::Status presented = absl::NotFoundError("the master knows jobs that we do not");
  if (!module.path.empty()) {
    auto shown = PresentByModule(module, job, parts, host);
    if (!shown.ok()) return shown.status();
    text = *std::move(shown);
    presented = absl::OkStatus();
  } else if (const auto found = host.catalog.find(job.job); found != host.catalog.end()) {
    const auto values = CheckParameters(found->second->info(), job.parameters);
    if (!values.ok()) return values.status();
    std::ostringstream shown;
    presented = found->second->Present(parts, *values, shown);
    text = shown.str();
  }
  // A terminal would obey what lies in the data; a file or a pipe gets it as it is.
  host.out << (host.out_is_terminal ? EscapeControlsInLines(text) : text) << std::flush;
  if (!presented.ok() && !absl::IsNotFound(presented)) return presented;
  if (presented.ok()) {
    // A line or two are a summary, not rows, unless there are no more.
    std::int64_t records = 0;
    for (const auto& part : status.parts()) records += part.records();
    rows_shown =
        std::count(text.begin(), text.end(), '\n') >= std::min<std::int64_t>(kRowsShown, records);
  }
  if (quiet || rows_shown) return absl::OkStatus();
  const std::string preview = PreviewRows(parts, kRowsShown, host.terminal.columns);
  if (!preview.empty()) host.err << "first rows of the result:\n" << preview;
  return absl::OkStatus();
}

std::string DescribeOutput(const v1::JobStatus& status) {
  std::int64_t bytes = 0, records = 0;
  for (const auto& part : status.parts()) {
    bytes += part.bytes();
    records += part.records();
  }
  return absl::StrFormat("output: %s (%d %s, %s, %s %s)", EscapeControls(status.spec().output()),
                         status.parts_size(), status.parts_size() == 1 ? "part" : "parts",
                         FormatBytes(static_cast<double>(bytes)), FormatCount(records),
                         records == 1 ? "record" : "records");
}

std::string DescribeTimes(const v1::JobStatus& status) {
  std::string line = absl::StrCat("predicted ", FormatSeconds(status.predicted_makespan_s()),
                                  ", actual ", FormatSeconds(status.actual_makespan_s()));
  if (status.predicted_makespan_s() > 0) {
    const double off = status.actual_makespan_s() / status.predicted_makespan_s() - 1;
    absl::StrAppend(&line, absl::StrFormat(" (%+.0f%%)", off * 100));
  }
  if (status.lower_bound_s() > 0) {
    absl::StrAppend(&line, ", lower bound ",
                    planner::ReadableBound(status.lower_bound_s(), status.actual_makespan_s()));
  }
  return line;
}

// Pictures beside the output are a service: what goes wrong with them is said, and does not fail
// the job. Those that were asked for by name must be there: without them the command fails, and the
// job's result is kept. Returns the exit code.
int WritePictures(const std::string& job_id, const v1::JobStatus& status,
                  const PictureOptions& pictures, bool quiet, Session& session, CommandHost& host) {
  v1::GetPlanRequest request;
  request.set_job_id(job_id);
  const auto plan = AskForPlan(session, request);
  absl::Status beside = plan.status(), named = plan.status();
  if (plan.ok()) {
    const auto explained =
        ExplainedPlan::From(*plan, absl::StrCat(status.spec().job(), " ", job_id));
    beside =
        explained.ok() ? explained->WriteBeside(status.spec().output(), host) : explained.status();
    named = explained.ok() ? explained->WritePictures(pictures, host) : explained.status();
  }
  if (!beside.ok()) {
    host.err << "weir: the plan's pictures were not written beside the output: "
             << std::string(beside.message()) << '\n';
  } else if (!quiet) {
    host.err << "more: " << EscapeControls(status.spec().output())
             << "/_weir/{plan.json,gantt.svg,trace.json}\n";
  }
  if (named.ok() || (pictures.gantt.empty() && pictures.trace.empty())) return kExitOk;
  host.err << "weir: what --gantt or --trace asked for was not written: "
           << std::string(named.message()) << "; the result of the job is kept\n";
  return kExitJobFailed;
}

struct ResultOptions {
  const JobOptions& job;
  const ModuleJob& module;
  const PictureOptions& pictures;
  bool json;
  bool quiet;
  bool verbose;
  bool progress_json = false;
  MasterGrace grace = {};
  std::function<void(const v1::JobStatus&)> on_status = nullptr;
};

int ReportSuccess(const std::string& job_id, const v1::JobStatus& status,
                  const ResultOptions& options, Session& session, CommandHost& host) {
  if (!options.json) {
    if (absl::Status shown =
            PresentResult(options.job, options.module, status, options.quiet, host);
        !shown.ok()) {
      host.err << "weir: the result cannot be shown here: " << std::string(shown.message()) << '\n';
    }
  }
  if (!options.quiet) {
    host.err << DescribeTimes(status) << '\n' << DescribeOutput(status) << '\n';
    for (const auto& record : status.skipped()) {
      host.err << "left out: " << DescribeSkipped(record) << '\n';
    }
  }
  return WritePictures(job_id, status, options.pictures, options.quiet, session, host);
}

RunEnd EndOfCall(const absl::Status& status, bool json, CommandHost& host) {
  RunEnd end;
  end.code = ReportCallError(status, json, host);
  // By its user, who had not seen the job accepted yet.
  if (absl::IsCancelled(status)) end.code = kExitInterrupted;
  if (CarriesJobError(status)) end.error_code = JobErrorFromStatus(status).code();
  return end;
}

RunEnd FollowToTheEnd(const std::string& job_id, const ResultOptions& options, Session& session,
                      CommandHost& host) {
  const FollowedJob followed = FollowJob(session, job_id,
                                         {.cancel_on_interrupt = true,
                                          .show_progress = !options.quiet,
                                          .show_plan = !options.quiet,
                                          .whole_plan = options.verbose,
                                          .progress_json = options.progress_json,
                                          .grace = options.grace,
                                          .reached = true,
                                          .on_status = options.on_status},
                                         host);
  if (!followed.status.ok()) {
    RunEnd end = EndOfCall(followed.status.status(), options.json, host);
    if (followed.interrupted) end.code = kExitInterrupted;
    return end;
  }
  const v1::JobStatus& status = *followed.status;
  RunEnd end = {ExitCodeOfJob(status), status.error().code(), status};
  if (end.code == kExitOk) {
    end.code = ReportSuccess(job_id, status, options, session, host);
  } else {
    ReportJobError(status.error(), host);
    if (followed.interrupted) end.code = kExitInterrupted;
  }
  if (options.json) host.out << JsonDocument(JobToJson(status));
  return end;
}

}  // namespace

int Run(const RunOptions& options, CommandHost& host) {
  const RunEnd end = RunToTheEnd(options, host);
  if (!options.quiet) {
    for (const v1::Counter& counter : end.status.counters()) {
      host.err << "counter " << EscapeControls(counter.name()) << " = "
               << FormatCount(counter.value()) << '\n';
    }
  }
  return end.code;
}

RunEnd RunToTheEnd(const RunOptions& options, CommandHost& host,
                   std::function<void(const v1::JobStatus&)> on_status) {
  const absl::Status before = CheckBefore(options.job, options.pictures, host);
  if (!before.ok()) return EndOfCall(before, options.json, host);
  const auto module = AskModuleJob(options.job, host);
  if (!module.ok()) return EndOfCall(module.status(), options.json, host);
  auto session = options.master.address.empty() ? host.start_embedded(options.embedded, options.job)
                                                : host.connect(options.master);
  if (!session.ok()) return EndOfCall(session.status(), options.json, host);
  if (options.end_with_stdin) (*session)->EndWithStdin();
  const auto job_id = SubmitJob(options.job, *module, options.grace, **session, host);
  if (!job_id.ok()) return EndOfCall(job_id.status(), options.json, host);
  return FollowToTheEnd(
      *job_id,
      {options.job, *module, options.pictures, options.json, options.quiet || options.progress_json,
       options.verbose, options.progress_json, options.grace, std::move(on_status)},
      **session, host);
}

int Submit(const SubmitOptions& options, CommandHost& host) {
  const absl::Status before = CheckBefore(options.job, options.pictures, host);
  if (!before.ok()) return ReportCallError(before, options.json, host);
  const auto module = AskModuleJob(options.job, host);
  if (!module.ok()) return ReportCallError(module.status(), options.json, host);
  auto session = host.connect(options.master);
  if (!session.ok()) return ReportCallError(session.status(), options.json, host);
  const auto job_id = SubmitJob(options.job, *module, options.grace, **session, host);
  if (!job_id.ok()) return EndOfCall(job_id.status(), options.json, host).code;
  if (options.wait) {
    if (!options.quiet && !options.progress_json) host.err << "job " << *job_id << '\n';
    return FollowToTheEnd(*job_id,
                          {options.job, *module, options.pictures, options.json,
                           options.quiet || options.progress_json, options.verbose,
                           options.progress_json, options.grace},
                          **session, host)
        .code;
  }
  if (options.json) {
    host.out << JsonDocument({{"job_id", *job_id}});
  } else {
    host.out << *job_id << '\n';
    if (!options.quiet) {
      host.err << "follow it with: weir watch " << *job_id << " --master "
               << (*session)->master_name() << '\n';
    }
  }
  return kExitOk;
}

}  // namespace weir::client
