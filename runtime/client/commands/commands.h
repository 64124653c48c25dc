#pragma once

// Every command as a function: options in, text on the host's streams, exit code out. Each stands
// in a file of its name. Upstream: RunCommand. Downstream: Session, planner, storage.

#include <functional>
#include <string>

#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"
#include "weir/v1/job.pb.h"

namespace weir::client {

inline constexpr char kVersion[] = "0.1.0";

/// Runs any command but the daemons. Returns the exit code of the process (exit_codes.h).
int RunCommand(const Command& command, CommandHost& host);

int Run(const RunOptions& options, CommandHost& host);
int Streaming(const StreamingOptions& options, CommandHost& host);
int Hadoop(const HadoopOptions& options, CommandHost& host);
int HadoopHome(const HadoopHomeOptions& options, CommandHost& host);
int Submit(const SubmitOptions& options, CommandHost& host);
int Plan(const PlanOptions& options, CommandHost& host);
int Watch(const WatchOptions& options, CommandHost& host);
int Status(const StatusOptions& options, CommandHost& host);
int List(const ListOptions& options, CommandHost& host);
int Cancel(const CancelOptions& options, CommandHost& host);
int Logs(const LogsOptions& options, CommandHost& host);
int Calibrate(const CalibrateOptions& options, CommandHost& host);
int Explain(const ExplainOptions& options, CommandHost& host);
int Jobs(const JobsOptions& options, CommandHost& host);
int Planner(const PlannerOptions& options, CommandHost& host);
int Man(const ManOptions& options, CommandHost& host);
int NewJob(const NewJobOptions& options, CommandHost& host);
int Verify(const VerifyOptions& options, CommandHost& host);
int GenerateData(const GenerateDataOptions& options, CommandHost& host);
int ValidateData(const ValidateDataOptions& options, CommandHost& host);

/// How a job that was run has ended.
struct RunEnd {
  int code = 0;            // exit_codes.h
  std::string error_code;  // job_errors.h; empty: none, or one without a name
  v1::JobStatus status;    // empty where the job did not begin
};

/// What Run does; `on_status`, if there is one, sees each status of the job. Downstream: commands
/// that end in another way.
RunEnd RunToTheEnd(const RunOptions& options, CommandHost& host,
                   std::function<void(const v1::JobStatus&)> on_status = nullptr);

/// Marks a result as Hadoop does. Returns the exit code of `weir streaming`.
int FinishStreaming(const StreamingOptions& options, const RunEnd& end, CommandHost& host);

}  // namespace weir::client
