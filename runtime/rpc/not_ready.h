#pragma once

// A server that is there and does not serve at present: it is starting or stopping. Its callers may
// tell it from one that nobody can reach. Upstream: Master. Downstream: MasterAbsence.

#include <string_view>

#include "absl/status/status.h"

namespace weir::rpc {

/// The code of such an answer (JobError).
inline constexpr std::string_view kNotReady = "MASTER_NOT_READY";

/// Returns kUnavailable with that code.
absl::Status NotReadyError(std::string_view message);
/// True when NotReadyError made this status, here or in another process.
/// Checked by: tests/unit/rpc/wire_version_test.cc.
bool IsNotReady(const absl::Status& status);

}  // namespace weir::rpc
