#pragma once

// What earlier jobs wrote, as input of the next: it must be all of it, must not lie where the next
// one writes, and must not come to be input unasked. Blocking: on a WorkPool. Upstream:
// env::Storage, manifests. Downstream: the list of inputs.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/env/storage.h"
#include "runtime/master/input/input_ranges.h"

namespace weir::master {

/// Says whether a directory is the result of a job: it has a manifest of Weir.
///
/// Errors, with a JobError: INPUT_UNREADABLE where a part of that manifest is missing or has
/// another size, for the next job's result would be that of a part of the input; where the manifest
/// cannot be read.
/// Blocking: reads the manifest, where there is one, and looks at each part. Thread-safety: as
///   storage.
/// Checked by: tests/unit/master/earlier_results_test.cc.
absl::StatusOr<bool> IsWholeResult(env::Storage& storage, const std::string& directory);

/// An overwrite would remove inputs that lie inside the old output, whatever links they are reached
/// by. Seen by device and inode: a second way through a file system of its own (FUSE) is not.
///
/// Errors: INVALID_JOB, naming the input and where it lies.
/// Blocking: lists the old output, where there is one. Thread-safety: as storage.
/// Checked by: tests/unit/master/earlier_results_test.cc.
absl::Status CheckInputsOutside(env::Storage& storage, const InputList& input,
                                const std::string& output);

/// A result that lies in a directory of the input would be read as input by whoever runs on that
/// directory again, and while it is staged by other jobs on it. A place whose name, or a folder's
/// on the way to it, begins with "." or "_" is none that is read.
///
/// `directories`: all that the input was taken from (ExpandInputs). Errors: INVALID_JOB, naming
///   output and directory.
/// Blocking: one Stat for each directory above the output that is missing, and one more.
/// Thread-safety: as storage. Checked by: tests/unit/master/earlier_results_test.cc.
absl::Status CheckOutputOutside(env::Storage& storage,
                                const std::vector<env::FileInfo>& directories,
                                const std::string& output);

/// The same for what globs among `inputs` would match once the output is there: itself, a directory
/// on the way to it that is yet to be made, or the first of its parts.
///
/// Errors: INVALID_JOB, naming output and glob.
/// Blocking: as CheckOutputOutside, and one Glob for each number of names that the two may share.
/// Thread-safety: as storage. Checked by: tests/unit/master/earlier_results_test.cc.
absl::Status CheckOutputUnmatched(env::Storage& storage, const std::vector<std::string>& inputs,
                                  const std::string& output);

}  // namespace weir::master
