#pragma once

// Which programs understand each other: one number for all messages of services.proto and of the
// data plane. Upstream: who submits or registers stamps it. Downstream: Master.

#include <string_view>

#include "absl/status/status.h"

namespace weir::rpc {

/// What this program speaks. Grows when a message means something else than before, or nothing
/// works without a field that is new; a field that may be missing needs no new number.
///   1: as before there were such numbers.
///   2: clients and workers say what they speak.
inline constexpr int kWireVersion = 2;
/// The oldest that it still speaks: the version before, so that a cluster can be upgraded one
/// process after the other.
inline constexpr int kWireVersionOldest = 1;

/// Says in a request what this program speaks.
template <typename Request>
void StampWireVersion(Request& request) {
  request.set_wire_version(kWireVersion);
  request.set_wire_version_oldest(kWireVersionOldest);
}

/// Checks that `who` ("client", "worker") and this master have a version in common.
/// Errors: kFailedPrecondition with WRONG_VERSION, naming both and which of the two to upgrade.
/// Checked by: tests/unit/rpc/wire_version_test.cc.
absl::Status CheckWireVersion(int version, int oldest, std::string_view who);

}  // namespace weir::rpc
