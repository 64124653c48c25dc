#pragma once

// Checks of what comes from outside, once, at the edge. Behind them values are trusted.
// Upstream: Master's handlers. Pure.

#include "absl/status/status.h"
#include "weir/v1/services.pb.h"

namespace weir::master {

/// Checks one message in itself: ranges, sizes, names; not whether what it names exists.
/// Errors: kInvalidArgument naming field, value and what is legal.
/// Checked by: tests/unit/master/check_messages_test.cc.
/// `needs_output`: false for a dry run, which writes nothing.
absl::Status Check(const v1::JobSpec& spec, bool needs_output);
absl::Status Check(const v1::RegisterRequest& request);
absl::Status Check(const v1::HeartbeatRequest& request);
absl::Status Check(const v1::ReportStepRequest& request);
absl::Status Check(const v1::ReportTransferRequest& request);

}  // namespace weir::master
