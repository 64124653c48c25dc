#include "runtime/client/flags/exit_codes.h"

#include <string_view>

#include "runtime/base/job_errors.h"

namespace weir::client {

ExitCode ExitCodeOfError(const v1::JobError& error) {
  constexpr std::string_view kToBeMended[] = {
      job_error::kInputNotFound, job_error::kInputUnreadable, job_error::kOutputUnusable,
      job_error::kOutputExists, job_error::kOutputNotShared};
  for (const std::string_view code : kToBeMended) {
    if (error.code() == code) return kExitRefused;
  }
  return error.code() == job_error::kDeadline ? kExitDeadline : kExitJobFailed;
}

ExitCode ExitCodeOfCall(const absl::Status& status) {
  if (CarriesJobError(status)) {
    const ExitCode named = ExitCodeOfError(JobErrorFromStatus(status));
    if (named == kExitRefused) return named;
  }
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitMasterUnreachable;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDataLoss:  // a file is to be restored or moved away: a journal
      return kExitRefused;
    case absl::StatusCode::kCancelled:
      return kExitCancelled;
    default:
      return kExitInternal;
  }
}

ExitCode ExitCodeOfJob(const v1::JobStatus& status) {
  switch (status.state()) {
    case v1::JOB_STATE_SUCCEEDED:
      return kExitOk;
    case v1::JOB_STATE_CANCELLED:
      return kExitCancelled;
    default:
      return ExitCodeOfError(status.error());
  }
}

HadoopExit HadoopExitCode(int exit_code, std::string_view error_code) {
  if (exit_code == kExitOk) return kHadoopOk;
  if (exit_code == kExitInterrupted || exit_code == kExitCancelled) return kHadoopInterrupted;
  if (error_code == job_error::kInputNotFound) return kHadoopNoInput;
  if (error_code == job_error::kOutputExists) return kHadoopOutputExists;
  if (error_code == job_error::kInvalidJob || exit_code == kExitUsage) {
    return kHadoopBadConfiguration;
  }
  const bool files = exit_code == kExitRefused || exit_code == kExitMasterUnreachable ||
                     error_code == job_error::kDiskFull;
  return files ? kHadoopIo : kHadoopFailed;
}

bool IsTerminal(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED;
}

}  // namespace weir::client
