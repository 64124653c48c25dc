#pragma once

// From what the user wrote to the list of files. Blocking: on a WorkPool.
// Upstream: JobSpec. Downstream: InputRanges, planning.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/env/storage.h"
#include "runtime/master/input/input_ranges.h"

namespace weir::master {

/// Expands files, directories and globs, in the order given.
///
/// A directory stands for all regular files below it, sorted by name level by level, without those
/// whose name (or a folder's name on the way) begins with "." or "_", as Hadoop leaves them out,
/// and without the manifest of a job's result. A path that was named is taken whatever its name is.
/// A pattern with *, ?, [ or {a,b} is a glob unless a file has exactly that name; its matches are
/// sorted. Its wildcards do not match a "_" that begins a name, nor a result's manifest, as they do
/// not match a "." there. A file that is named twice counts twice. Errors, each with a JobError:
/// INPUT_NOT_FOUND (no such path, no match, none that is data, a link in a directory that
///   leads nowhere), INPUT_UNREADABLE (not permitted, neither file nor directory, a link that leads
///   back to a directory above it or to itself, directories nested too deeply, a job's result of
///   which parts are missing or have another size),
///   INVALID_JOB (more than limits::kInputFilesMax files).
/// Of large packed files it finds the borders (packed_files.h); at some places of plain ones it
/// looks (input_look.h). `begins`, if given, is told each input before it is looked at;
/// `directories`, if given, gets all that files were taken from, as often as that was done.
/// Blocking: as many Storage calls as there are directories. Thread-safety: as storage.
/// Checked by: tests/unit/master/input_expansion_test.cc.
absl::StatusOr<InputList> ExpandInputs(env::Storage& storage,
                                       const std::vector<std::string>& inputs,
                                       const std::function<void(const std::string&)>& begins = {},
                                       std::vector<env::FileInfo>* directories = nullptr);

}  // namespace weir::master
