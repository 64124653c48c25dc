#pragma once

#include <string>

#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"
#include "weir/v1/job.pb.h"

namespace weir::client {

/// Returns `path` as seen from the root. Dots and globs stay as they are.
std::string AbsolutePath(const std::string& path, const std::string& working_directory);

/// Returns the message of a job, with absolute paths and a fresh idempotency key.
v1::JobSpec MakeJobSpec(const JobOptions& job, CommandHost& host);

}  // namespace weir::client
