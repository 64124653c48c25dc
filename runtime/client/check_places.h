#pragma once

// What a user named, looked at before anything is started. Upstream: commands that run or plan
// jobs. Downstream: the master trusts what it can read.

#include "absl/status/status.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"

namespace weir::client {

/// Checks that inputs and output are paths, not addresses of other stores or standard input, and
/// that all words are UTF-8, as messages carry them.
/// Errors, with a JobError: INVALID_JOB, INPUT_UNREADABLE, OUTPUT_UNUSABLE.
absl::Status CheckPlaces(const JobOptions& job);

/// Checks that the pictures can be written, as far as that is known before.
/// Errors: kInvalidArgument, naming flag and path.
absl::Status CheckPictures(const PictureOptions& pictures, CommandHost& host);

}  // namespace weir::client
