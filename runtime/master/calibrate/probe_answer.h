#pragma once

// What the answer to one probe says: of the flow that it measured, or of which end is lost. Pure.
// Upstream: CalibrationRun (orders probes). Downstream: CalibrationMachine, by RoundOutcome.

#include "absl/status/status.h"
#include "runtime/master/calibrate/calibration_machine.h"
#include "weir/v1/calibration.pb.h"

namespace weir::master {

/// One of the two workers of a flow.
enum class FlowEnd { kSender, kReceiver };

/// Returns which end is taken to be lost when the receiver's answer to an order is `why`: itself,
/// where it cannot be reached or is there under another epoch. All else it says of its sender.
/// Requires: `why` is an error. Thread-safety: pure.
/// Checked by: tests/unit/master/probe_answer_test.cc.
FlowEnd LostEnd(const absl::Status& why);

/// Returns what a probe measured. `whole_s`: from its order to its answer; what the receiver was
/// not busy for is the round trip of the order, and never below 0. A window of no length has no
/// rate. Thread-safety: pure.
/// Checked by: tests/unit/master/probe_answer_test.cc.
ProbeOutcome OutcomeOf(const v1::ProbeResponse& response, double whole_s);

}  // namespace weir::master
