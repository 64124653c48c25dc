// weir watch, status, cancel, logs: questions about one job.

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/absence/master_absence.h"
#include "runtime/client/ask_again.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/value_text.h"
#include "runtime/client/follow_job.h"
#include "runtime/client/progress.h"
#include "runtime/client/status_json.h"

namespace weir::client {
namespace {

void PrintStatus(const v1::JobStatus& status, std::ostream& out) {
  out << "job        " << status.job_id() << " (" << EscapeControls(status.spec().job()) << ")\n"
      << "state      " << PhaseName(status) << '\n';
  if (status.spec().priority() != 0) out << "priority   " << status.spec().priority() << '\n';
  if (status.state() == v1::JOB_STATE_RUNNING) {
    out << "progress   " << ProgressLine(status, 100) << '\n';
  }
  out << "submitted  " << FormatUnixMillis(status.submitted_unix_ms());
  if (!status.spec().submitter().empty()) out << " by " << status.spec().submitter();
  out << '\n';
  if (status.ended_unix_ms() != 0) {
    out << "ended      " << FormatUnixMillis(status.ended_unix_ms()) << '\n';
  }
  if (!status.plan_id().empty()) {
    out << "plan       " << status.plan_id();
    // A job that another version of the master remembers may have a plan without a prediction.
    if (status.predicted_makespan_s() > 0) {
      out << ", predicted " << FormatSeconds(status.predicted_makespan_s());
    }
    if (status.actual_makespan_s() > 0) {
      out << ", actual " << FormatSeconds(status.actual_makespan_s());
    }
    out << '\n';
  }
  for (const auto& loss : status.losses()) out << "lost       " << DescribeLoss(loss) << '\n';
  for (const auto& counter : status.counters()) {
    out << "counter    " << EscapeControls(counter.name()) << " = " << FormatCount(counter.value())
        << '\n';
  }
  for (const auto& record : status.skipped()) {
    out << "left out   " << DescribeSkipped(record) << '\n';
  }
  out << "output     " << EscapeControls(status.spec().output());
  if (status.state() == v1::JOB_STATE_SUCCEEDED) {
    out << " (" << status.parts_size() << (status.parts_size() == 1 ? " part)" : " parts)");
  }
  out << '\n';
}

// Opens the session, asks once about one job, hands the answer on.
template <typename Method, typename Show>
int AskAboutJob(const MasterAddress& master, const std::string& job_id, bool json,
                typename Method::Request request, CommandHost& host, Show show) {
  auto session = host.connect(master);
  if (!session.ok()) return ReportCallError(session.status(), json, host);
  request.set_job_id(job_id);
  const auto response = Ask<Method>(**session, std::move(request));
  if (!response.ok()) return ReportCallError(response.status(), json, host);
  return show(*response);
}

}  // namespace

int Watch(const WatchOptions& options, CommandHost& host) {
  auto session = host.connect(options.master);
  if (!session.ok()) return ReportCallError(session.status(), options.json, host);
  const FollowedJob followed = FollowJob(**session, options.job_id,
                                         {.cancel_on_interrupt = false,
                                          .show_progress = !options.quiet,
                                          .show_plan = !options.quiet,
                                          .whole_plan = options.verbose,
                                          .grace = options.grace},
                                         host);
  if (followed.interrupted) return kExitInterrupted;
  if (!followed.status.ok()) return ReportCallError(followed.status.status(), options.json, host);
  const v1::JobStatus& status = *followed.status;
  if (ExitCodeOfJob(status) != kExitOk) ReportJobError(status.error(), host);
  if (options.json) {
    host.out << JsonDocument(JobToJson(status));
  } else {
    PrintStatus(status, host.out);
  }
  return ExitCodeOfJob(status);
}

int Status(const StatusOptions& options, CommandHost& host) {
  auto session = host.connect(options.master);
  if (!session.ok()) return ReportCallError(session.status(), options.json, host);
  v1::GetStatusRequest request;
  request.set_job_id(options.job_id);
  MasterAbsence absence(options.grace, /*reached=*/false, absl::ZeroDuration(), host.random);
  const auto status =
      AskAgain<rpc::GetStatus>(**session, request, "ask again later", absence, host);
  if (!status.ok()) {
    const ExitCode code = ReportCallError(status.status(), options.json, host);
    return absl::IsCancelled(status.status()) ? kExitInterrupted : code;
  }
  if (options.json) {
    host.out << JsonDocument(JobToJson(*status));
  } else {
    PrintStatus(*status, host.out);
    if (!status->error().code().empty()) ReportJobError(status->error(), host);
  }
  return kExitOk;
}

int Cancel(const CancelOptions& options, CommandHost& host) {
  v1::CancelRequest request;
  request.set_reason(options.reason);
  return AskAboutJob<rpc::Cancel>(options.master, options.job_id, options.json, std::move(request),
                                  host, [&](const v1::CancelResponse&) {
                                    if (options.json) {
                                      host.out << JsonDocument({{"job_id", options.job_id}});
                                    } else {
                                      host.err << "cancelled " << options.job_id << '\n';
                                    }
                                    return kExitOk;
                                  });
}

int Logs(const LogsOptions& options, CommandHost& host) {
  return AskAboutJob<rpc::GetLogs>(
      options.master, options.job_id, options.json, {}, host,
      [&](const v1::GetLogsResponse& response) {
        nlohmann::ordered_json logs = nlohmann::ordered_json::array();
        for (const auto& log : response.logs()) {
          if (options.json) {
            logs.push_back({{"worker", log.worker()}, {"output_tail", log.output_tail()}});
            continue;
          }
          // A terminal would obey what user code wrote; a file or a pipe gets it as it is.
          host.out << "== " << log.worker() << '\n'
                   << (host.out_is_terminal ? EscapeControlsInLines(log.output_tail())
                                            : log.output_tail());
          if (!log.output_tail().empty() && !log.output_tail().ends_with('\n')) {
            host.out << '\n';
          }
        }
        if (options.json) host.out << JsonDocument({{"logs", logs}});
        return kExitOk;
      });
}

}  // namespace weir::client
