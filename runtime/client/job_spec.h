#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"
#include "weir/v1/job.pb.h"

namespace weir::client {

/// Returns `path` as seen from the root. Dots and globs stay as they are.
std::string AbsolutePath(const std::string& path, const std::string& working_directory);

/// Returns the reducers that are asked for: by --reducers, or else by the property
/// mapreduce.job.reduces of the job `stream`, which may say it twice. Empty where nothing says.
/// Errors: INVALID_JOB where they say different numbers.
/// Checked by: tests/unit/client/job_spec_test.cc.
absl::StatusOr<std::vector<int>> ReducersOf(const JobOptions& job);

/// Returns the message of a job, with absolute paths and a fresh idempotency key.
v1::JobSpec MakeJobSpec(const JobOptions& job, CommandHost& host);

/// Refuses to replace the directory that the user is in, or one above it. Errors: OUTPUT_EXISTS.
absl::Status CheckOverwrite(const v1::JobSpec& spec, const std::string& working_directory);

}  // namespace weir::client
