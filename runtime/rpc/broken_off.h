#pragma once

// A call that broke off: its peer had taken the connection, and did not answer any more. It was
// there a moment ago, which nobody knows of one that could not be reached at all. Upstream:
// runtime/rpc/grpc. Downstream: MasterAbsence.

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir::rpc {

/// Returns kUnavailable with a mark.
absl::Status BrokenOffError(absl::string_view message);
/// True when BrokenOffError made this status, in this process.
/// Checked by: tests/unit/rpc/wire_version_test.cc.
bool IsBrokenOff(const absl::Status& status);

}  // namespace weir::rpc
