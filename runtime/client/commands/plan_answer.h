#pragma once

// Asks for a plan, however large it is. Upstream: weir plan, explain, run and submit. Downstream:
// Session.

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/limits.h"
#include "runtime/client/session.h"
#include "weir/v1/services.pb.h"

namespace weir::client {

/// Asks for the plan of a job and what became of it: piece by piece, or, of a master that is too
/// old to know pieces, in one answer, which may be too long for a message (kResourceExhausted).
///
/// Errors: the master's; kDeadlineExceeded when no piece comes for `wait`.
/// Checked by: tests/unit/client/plan_answer_test.cc.
absl::StatusOr<v1::GetPlanResponse> AskForPlan(Session& session, const v1::GetPlanRequest& request,
                                               absl::Duration wait = limits::kPlanPieceWait);

/// The same of a plan that is made for the question. Errors: also kCancelled, when the user
/// interrupts it.
absl::StatusOr<v1::GetPlanResponse> AskForDryRun(Session& session,
                                                 const v1::DryRunRequest& request);

}  // namespace weir::client
