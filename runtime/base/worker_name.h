#pragma once

// What may be the name of a worker. Upstream: the daemon at its start, the check of registrations.

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir {

/// Errors: kInvalidArgument unless `name` is 1 to 256 bytes of UTF-8 without control characters:
/// names stand in lines of logs, lists and errors, which a line break would forge. Pure.
/// Checked by: tests/unit/base/worker_name_test.cc.
absl::Status CheckWorkerName(absl::string_view name);

}  // namespace weir
