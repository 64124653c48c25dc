#pragma once

// What a user named, looked at before anything is started. Upstream: commands that run or plan
// jobs. Downstream: the master trusts what it can read.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"

namespace weir::client {

/// Checks that inputs and output are paths, not addresses of other stores or standard input, and
/// that all words are UTF-8, as messages carry them.
/// Errors, with a JobError: INVALID_JOB, INPUT_UNREADABLE, OUTPUT_UNUSABLE.
absl::Status CheckPlaces(const JobOptions& job);

/// Checks, as far as that is known before, that a file that a flag names can be written. "-" is
/// none, as for inputs.
/// Errors: kInvalidArgument, naming flag and path.
absl::Status CheckWritable(std::string_view flag, const std::string& file, CommandHost& host);

/// Checks that the pictures can be written, as far as that is known before, and that they replace
/// neither each other, nor what the job reads (data of its inputs, which are files, directories or
/// globs, its plan, its module and files that go with it), nor anything of its output.
/// Errors: kInvalidArgument, naming flag and path.
/// Checked by: tests/unit/client/check_places_test.cc.
absl::Status CheckPictures(const PictureOptions& pictures, const JobOptions& job,
                           CommandHost& host);

/// A flag and the path behind it; the path is empty where it was not given.
using FlagPath = std::pair<std::string, std::string>;

/// Checks that no file to be written is one that is read, by any name, and that no two of them are
/// one. What is no regular file, as /dev/null, is written in place and may be named by any flags;
/// "-" by none.
/// Errors: kInvalidArgument, naming flags and path.
/// Checked by: tests/unit/client/check_places_test.cc.
absl::Status CheckWritesApart(const std::vector<FlagPath>& written,
                              const std::vector<FlagPath>& read, CommandHost& host);

}  // namespace weir::client
