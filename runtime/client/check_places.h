#pragma once

// What a user named, looked at before anything is started. Upstream: commands that run or plan
// jobs. Downstream: the master trusts what it can read.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"

namespace weir::client {

/// Checks that inputs and output are paths, not addresses of other stores or standard input, and
/// that all words are UTF-8, as messages carry them.
/// Errors, with a JobError: INVALID_JOB, INPUT_UNREADABLE, OUTPUT_UNUSABLE.
absl::Status CheckPlaces(const JobOptions& job);

/// Checks that the pictures can be written, as far as that is known before, and that they replace
/// neither each other nor data of the job's `inputs` (files, directories or globs).
/// Errors: kInvalidArgument, naming flag and path.
absl::Status CheckPictures(const PictureOptions& pictures, const std::vector<std::string>& inputs,
                           CommandHost& host);

}  // namespace weir::client
