#pragma once

// Tries on the output's file system what publishing will need, before a job computes anything.
// Upstream: StageOutput. Downstream: env::Storage.

#include "absl/status/status.h"
#include "runtime/env/storage.h"
#include "runtime/master/output/output_places.h"

namespace weir::master {

/// Renames a directory and a file, syncs and removes, inside the staging directory, which must hold
/// its marker. For an overwrite also exchanges two directories, where the file system knows that,
/// and asks whether the old output can be moved at all.
/// Errors, with a JobError: OUTPUT_UNUSABLE, which says what the file system cannot do; DISK_FULL.
absl::Status ProbeOutput(env::Storage& storage, const OutputPlaces& places, bool overwrite);

}  // namespace weir::master
