#pragma once

// Exit codes of the weir program; documented in `weir --help`.

#include <string_view>

#include "absl/status/status.h"
#include "weir/v1/job.pb.h"

namespace weir::client {

enum ExitCode : int {
  kExitOk = 0,
  kExitJobFailed = 1,
  kExitUsage = 2,
  kExitMasterUnreachable = 3,
  kExitRefused = 4,
  kExitCancelled = 5,
  kExitDeadline = 6,
  kExitInternal = 70,
  kExitInterrupted = 130,
};

/// What a named error means for the user, whoever finds it and when: kExitRefused for input that
/// cannot be read and output that cannot be written; kExitDeadline; else kExitJobFailed.
ExitCode ExitCodeOfError(const v1::JobError& error);

/// What a call that did not succeed means for the user: wrong arguments, master out of reach,
/// request refused, or a bug; what a named error says goes first.
ExitCode ExitCodeOfCall(const absl::Status& status);

/// What the end of a job means. Requires: a terminal state.
ExitCode ExitCodeOfJob(const v1::JobStatus& status);

/// Exit codes of `weir streaming`: those of Hadoop's StreamJob.
enum HadoopExit : int {
  kHadoopOk = 0,
  kHadoopFailed = 1,
  kHadoopNoInput = 2,
  kHadoopBadConfiguration = 3,
  kHadoopOutputExists = 4,
  kHadoopIo = 5,
  kHadoopInterrupted = 6,
};

/// What an end of `weir run` means there. `error_code`: of the job's error, empty if it has none.
HadoopExit HadoopExitCode(int exit_code, std::string_view error_code);

/// True for SUCCEEDED, FAILED and CANCELLED.
bool IsTerminal(v1::JobState state);

}  // namespace weir::client
