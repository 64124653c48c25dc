#pragma once

// Tries on the output's file system what publishing will need, before a job computes anything.
// Upstream: CheckOutput, StageOutput. Downstream: env::Storage.

#include <string>

#include "absl/status/status.h"
#include "runtime/env/storage.h"
#include "runtime/master/output/output_places.h"

namespace weir::master {

/// Whether names as long as those that a job gives beside its output are known to the file system.
/// Errors, with a JobError: OUTPUT_UNUSABLE.
absl::Status CheckOutputName(env::Storage& storage, const std::string& output);

/// What ProbeParent makes and removes; a master that dies in between leaves it.
std::string TrialDirectory(const std::string& output);

/// Makes a directory beside the output and removes it: below /proc, on a read-only file system and
/// where this user may not write that fails, and no job need be accepted to find out. An output
/// that is a symbolic link is refused too, wherever it leads. Errors, with a JobError:
/// OUTPUT_UNUSABLE, DISK_FULL.
absl::Status ProbeParent(env::Storage& storage, const std::string& output);

/// Renames a directory and a file, syncs and removes, inside the staging directory, which must hold
/// its marker. For an overwrite also exchanges two directories, where the file system knows that,
/// and asks whether the old output can be moved at all.
/// Errors, with a JobError: OUTPUT_UNUSABLE, which says what the file system cannot do; DISK_FULL.
absl::Status ProbeOutput(env::Storage& storage, const OutputPlaces& places, bool overwrite);

}  // namespace weir::master
