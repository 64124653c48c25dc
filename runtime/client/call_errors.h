#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/exit_codes.h"
#include "weir/v1/job.pb.h"

namespace weir::client {

/// Says on stderr why a call or a local step did not succeed (with `json` also as a document on
/// stdout), and returns the exit code that goes with it.
ExitCode ReportCallError(const absl::Status& status, bool json, CommandHost& host);

/// The same of files that a command reads by itself: what the system said of one is an input that
/// is missing or unreadable, and not a master out of reach.
ExitCode ReportInputError(const absl::Status& status, bool json, CommandHost& host);

/// What could not be read of a file that a flag names, with the flag: as ReportInputError says it,
/// whoever reports it. `status` is an error.
absl::Status FlagFileError(std::string_view flag, const absl::Status& status);

/// Says on stderr how a job failed: what, who, where, what to do, and the user's last lines.
void ReportJobError(const v1::JobError& error, CommandHost& host);

}  // namespace weir::client
