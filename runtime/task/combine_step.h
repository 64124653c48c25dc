#pragma once

// Combine steps: partial results of several workers become one, before anything is reduced.
// Upstream: step_kinds. Downstream: the engine (JobProgram).

#include "absl/status/statusor.h"
#include "runtime/task/step_kinds.h"

namespace weir::task {

/// Folds the inputs in their order. A single one, for one consumer, goes on as it is, without user
/// code: steps that only keep or join what arrived cost no more than a copy.
/// Errors: those of the job and of reading sections; what user code throws becomes USER_ERROR.
absl::StatusOr<StepTotals> CombineToRun(const StepWork& work, RunSink& sink);

}  // namespace weir::task
