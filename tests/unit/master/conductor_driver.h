#pragma once

// Runs a conductor under virtual time against workers and a network that take as long as told, and
// checks what it orders: ports, cuts, precedence, pieces, everything once.

#include <functional>
#include <string>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::master {

/// How reality differs from the plan.
struct DrivenReality {
  /// Seconds that this step or transfer takes, given what the model says.
  std::function<double(planner::StepIndex, double model_s)> step_seconds;
  std::function<double(planner::TransferIndex, double model_s)> transfer_seconds;
  /// Bytes that a section really has, given what was planned.
  std::function<planner::Bytes(planner::Bytes planned)> section_bytes;
  std::vector<std::string> handover_domains;  // empty: none
  /// Attempts at this transfer that come to nothing, every second one when it is nearly done; not
  /// set: none.
  std::function<int(planner::TransferIndex)> failures = nullptr;
  /// Rates over time: how long after the order a sender has a rate; not set: at once.
  std::function<double()> rate_delay_s = nullptr;
};

/// As the model says.
DrivenReality ExactReality();

/// Returns the makespan, or -1 when the run got stuck or broke a rule (also a test failure).
double DriveConductor(const planner::Plan& plan, const DrivenReality& reality);

}  // namespace weir::master
