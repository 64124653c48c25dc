#pragma once

// Named errors of jobs: stable codes, and the way between them and absl::Status.

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "weir/v1/job.pb.h"

namespace weir {

namespace job_error {
inline constexpr std::string_view kWorkerLost = "WORKER_LOST";
inline constexpr std::string_view kWorkerUnreachable = "WORKER_UNREACHABLE";
inline constexpr std::string_view kTaskCrashed = "TASK_CRASHED";
inline constexpr std::string_view kTaskHung = "TASK_HUNG";
inline constexpr std::string_view kUserError = "USER_ERROR";
inline constexpr std::string_view kBadRecord = "BAD_RECORD";
inline constexpr std::string_view kWorkDirectoryLost = "WORK_DIRECTORY_LOST";
inline constexpr std::string_view kDiskFull = "DISK_FULL";
inline constexpr std::string_view kOutOfMemory = "OUT_OF_MEMORY";
inline constexpr std::string_view kOutputExists = "OUTPUT_EXISTS";
inline constexpr std::string_view kOutputNotShared = "OUTPUT_NOT_SHARED";
inline constexpr std::string_view kOutputUnusable = "OUTPUT_UNUSABLE";
inline constexpr std::string_view kInputNotFound = "INPUT_NOT_FOUND";
inline constexpr std::string_view kInputUnreadable = "INPUT_UNREADABLE";
inline constexpr std::string_view kInputChanged = "INPUT_CHANGED";
inline constexpr std::string_view kInvalidJob = "INVALID_JOB";
inline constexpr std::string_view kNoWorkers = "NO_WORKERS";
inline constexpr std::string_view kTransferFailed = "TRANSFER_FAILED";
inline constexpr std::string_view kDataLoss = "DATA_LOSS";
inline constexpr std::string_view kMasterRestarted = "MASTER_RESTARTED";
inline constexpr std::string_view kDeadline = "DEADLINE";
inline constexpr std::string_view kCancelled = "CANCELLED";
inline constexpr std::string_view kArtifactTooLarge = "ARTIFACT_TOO_LARGE";
inline constexpr std::string_view kArtifactMissing = "ARTIFACT_MISSING";
inline constexpr std::string_view kArtifactDamaged = "ARTIFACT_DAMAGED";
inline constexpr std::string_view kArtifactStoreFull = "ARTIFACT_STORE_FULL";
inline constexpr std::string_view kArchiveRefused = "ARCHIVE_REFUSED";
inline constexpr std::string_view kModuleRefused = "MODULE_REFUSED";
inline constexpr std::string_view kModuleCrashed = "MODULE_CRASHED";
inline constexpr std::string_view kModuleHung = "MODULE_HUNG";
inline constexpr std::string_view kWrongVersion = "WRONG_VERSION";
inline constexpr std::string_view kInternal = "INTERNAL";
}  // namespace job_error

/// Builds an error from code, sentence and advice; the caller adds worker, step and place.
v1::JobError MakeJobError(std::string_view code, std::string_view message,
                          std::string_view advice = {});

/// Turns a status into a named error: the one that StatusFromJobError attached, else DISK_FULL and
/// file errors by errno (errno_status.h), else the code nearest to the status code.
v1::JobError JobErrorFromStatus(const absl::Status& status);

/// Attaches the error to a status (as payload), so that it crosses StatusOr borders and RPCs whole.
absl::Status StatusFromJobError(absl::StatusCode code, const v1::JobError& error);

/// True when StatusFromJobError made this status.
bool CarriesJobError(const absl::Status& status);

/// One line for people: message, worker, step, file@offset, advice.
std::string DescribeJobError(const v1::JobError& error);

}  // namespace weir
