// weir run, weir submit: the same job, here or on a cluster.

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/flags/value_text.h"
#include "runtime/client/follow_job.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/plan_file.h"
#include "runtime/client/plan_pictures.h"
#include "runtime/client/progress.h"
#include "runtime/client/status_json.h"

namespace weir::client {
namespace {

absl::StatusOr<std::string> SubmitJob(const JobOptions& job, Session& session, CommandHost& host) {
  v1::SubmitRequest request;
  *request.mutable_spec() = MakeJobSpec(job, host);
  absl::Status harmless = CheckOverwrite(request.spec(), host.working_directory);
  if (!harmless.ok()) return harmless;
  absl::Status planned = AddPlanFile(job, host, *request.mutable_spec());
  if (!planned.ok()) return planned;
  auto response = Ask<rpc::Submit>(session, std::move(request));
  if (!response.ok()) return response.status();
  return response->job_id();
}

// What only the job knows how to show.
absl::Status PresentResult(const JobOptions& job, const v1::JobStatus& status, CommandHost& host) {
  const auto found = host.catalog.find(job.job);
  if (found == host.catalog.end()) return absl::OkStatus();  // the master knows jobs that we do not
  const auto values = CheckParameters(found->second->info(), job.parameters);
  if (!values.ok()) return values.status();
  std::vector<std::string> parts;
  for (const auto& part : status.parts()) {
    parts.push_back(absl::StrCat(status.spec().output(), "/", part.file()));
  }
  absl::Status presented = found->second->Present(parts, *values, host.out);
  host.out.flush();
  return presented;
}

std::string DescribeOutput(const v1::JobStatus& status) {
  std::int64_t bytes = 0, records = 0;
  for (const auto& part : status.parts()) {
    bytes += part.bytes();
    records += part.records();
  }
  return absl::StrFormat("output: %s (%d %s, %s, %s records)", status.spec().output(),
                         status.parts_size(), status.parts_size() == 1 ? "part" : "parts",
                         FormatBytes(static_cast<double>(bytes)), FormatCount(records));
}

std::string DescribeTimes(const v1::JobStatus& status) {
  std::string line = absl::StrCat("predicted ", FormatSeconds(status.predicted_makespan_s()),
                                  ", actual ", FormatSeconds(status.actual_makespan_s()));
  if (status.predicted_makespan_s() > 0) {
    const double off = status.actual_makespan_s() / status.predicted_makespan_s() - 1;
    absl::StrAppend(&line, absl::StrFormat(" (%+.0f%%)", off * 100));
  }
  if (status.lower_bound_s() > 0) {
    absl::StrAppend(&line, ", lower bound ", FormatSeconds(status.lower_bound_s()));
  }
  return line;
}

// Pictures are a service beside the result: what goes wrong with them is said, and does not fail
// the job.
void WritePictures(const std::string& job_id, const v1::JobStatus& status,
                   const PictureOptions& pictures, bool quiet, Session& session,
                   CommandHost& host) {
  v1::GetPlanRequest request;
  request.set_job_id(job_id);
  const auto plan = Ask<rpc::GetPlan>(session, std::move(request));
  absl::Status written = plan.status();
  if (written.ok()) {
    const auto explained =
        ExplainedPlan::From(*plan, absl::StrCat(status.spec().job(), " ", job_id));
    written = explained.status();
    if (written.ok()) written = explained->WriteBeside(status.spec().output(), host);
    if (explained.ok() && written.ok()) written = explained->WritePictures(pictures, host);
  }
  if (!written.ok()) {
    host.err << "weir: the plan's pictures were not written: " << std::string(written.message())
             << '\n';
  } else if (!quiet) {
    host.err << "plan: " << status.spec().output() << "/_weir/{plan.json,gantt.svg,trace.json}\n";
  }
}

struct ResultOptions {
  const JobOptions& job;
  const PictureOptions& pictures;
  bool json;
  bool quiet;
};

int ReportSuccess(const std::string& job_id, const v1::JobStatus& status,
                  const ResultOptions& options, Session& session, CommandHost& host) {
  if (!options.json) {
    if (absl::Status shown = PresentResult(options.job, status, host); !shown.ok()) {
      host.err << "weir: the result cannot be shown here: " << std::string(shown.message()) << '\n';
    }
  }
  if (!options.quiet) {
    host.err << DescribeTimes(status) << '\n' << DescribeOutput(status) << '\n';
    for (const auto& record : status.skipped()) {
      host.err << "left out: " << DescribeSkipped(record) << '\n';
    }
  }
  WritePictures(job_id, status, options.pictures, options.quiet, session, host);
  return kExitOk;
}

int FollowToTheEnd(const std::string& job_id, const ResultOptions& options, Session& session,
                   CommandHost& host) {
  const FollowedJob followed = FollowJob(
      session, job_id,
      {.cancel_on_interrupt = true, .show_progress = !options.quiet, .show_plan = !options.quiet},
      host);
  if (!followed.status.ok()) {
    const int code = ReportCallError(followed.status.status(), options.json, host);
    return followed.interrupted ? static_cast<int>(kExitInterrupted) : code;
  }
  const v1::JobStatus& status = *followed.status;
  int code = ExitCodeOfJob(status);
  if (code == kExitOk) {
    code = ReportSuccess(job_id, status, options, session, host);
  } else {
    ReportJobError(status.error(), host);
    if (followed.interrupted) code = kExitInterrupted;
  }
  if (options.json) host.out << JsonDocument(JobToJson(status));
  return code;
}

}  // namespace

int Run(const RunOptions& options, CommandHost& host) {
  auto session = options.master.address.empty() ? host.start_embedded(options.embedded)
                                                : host.connect(options.master);
  if (!session.ok()) return ReportCallError(session.status(), options.json, host);
  const auto job_id = SubmitJob(options.job, **session, host);
  if (!job_id.ok()) return ReportCallError(job_id.status(), options.json, host);
  return FollowToTheEnd(*job_id, {options.job, options.pictures, options.json, options.quiet},
                        **session, host);
}

int Submit(const SubmitOptions& options, CommandHost& host) {
  auto session = host.connect(options.master);
  if (!session.ok()) return ReportCallError(session.status(), options.json, host);
  const auto job_id = SubmitJob(options.job, **session, host);
  if (!job_id.ok()) return ReportCallError(job_id.status(), options.json, host);
  if (options.wait) {
    if (!options.quiet) host.err << "job " << *job_id << '\n';
    return FollowToTheEnd(*job_id, {options.job, options.pictures, options.json, options.quiet},
                          **session, host);
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
