#pragma once

// Hands a run over between workers of one machine. Upstream: a grant with handover set. Downstream:
// files that reduce steps read.

#include <string>

#include "absl/status/status.h"

namespace weir::worker {

/// Makes the file `source` appear as `destination`: by a hard link, or by a copy where the two are
/// on different file systems or links are not allowed. A destination that exists already is left
/// as it is: runs are immutable.
///
/// Blocking: a copy moves the whole run. Failure semantics: a copy appears whole or not at all.
/// Errors: kNotFound (source gone), kResourceExhausted (disk full), else by errno; messages name
///   both paths.
/// Checked by: tests/unit/worker/run_handover_test.cc.
absl::Status HandOverRun(const std::string& source, const std::string& destination);

}  // namespace weir::worker
