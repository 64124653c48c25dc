#pragma once

// Archives that come with a job, unpacked. Only a task process does that: what is in them is the
// user's, and so is what it may do to the code that reads it. Upstream: shipped_files.h.
// Downstream: libarchive, files.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/base/limits.h"

namespace weir::task {

/// What may still be unpacked.
struct UnpackBudget {
  std::int64_t bytes = limits::kUnpackedBytesMax;
  std::int64_t entries = limits::kUnpackedEntriesMax;
};

/// Makes `folder` and unpacks into it a tar file (plain, or packed by gzip, bzip2, xz, zstd) or a
/// zip file; what it is is told by its content, not by its name.
///
/// Files keep their permissions, as far as they are the owner's and without set-user-id, and their
/// times; the folder can be read, changed and removed by its owner, whatever the archive says.
/// Nothing is made outside of the folder, and no link leads out of it: links are made last, when
/// nothing is written any more, and may climb by leading ".." only, at most to the folder.
/// Requires: `folder` is not there. Takes what it used from `budget`. Blocking.
/// Errors: kInvalidArgument with ARCHIVE_REFUSED naming archive and entry: no archive, damaged,
///   encrypted, a path or a link out of the folder, a device, more than the budget; those of
///   files (errno). What was unpacked until then stays.
/// Checked by: tests/unit/task/unpack_archive_test.cc.
absl::Status UnpackArchive(const std::string& path, const std::string& folder,
                           UnpackBudget& budget);

}  // namespace weir::task
