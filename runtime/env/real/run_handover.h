#pragma once

// Runs of workers on one machine, by the kernel. Upstream: PosixStorage. Downstream: files that
// reduce steps read.

#include <string>

#include "absl/status/status.h"

namespace weir::env {

/// As Storage::HandOverRun.
/// Checked by: tests/unit/env/run_handover_test.cc.
absl::Status HandOverRun(const std::string& source, const std::string& destination);

}  // namespace weir::env
