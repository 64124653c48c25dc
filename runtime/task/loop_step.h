#pragma once

// Steps of loops: mapping what stayed with the process once more, and ending an iteration.
// Upstream: step_kinds. Downstream: the engine (JobProgram).

#include "absl/status/statusor.h"
#include "runtime/task/step_kinds.h"

namespace weir::task {

/// Iterate steps. Errors: those of the job and of reading sections; what user code throws becomes
/// USER_ERROR.
absl::StatusOr<StepTotals> IterateToRun(const StepWork& work, RunSink& sink);

/// Update steps; what they say of the loop goes into the step's result. Errors: as IterateToRun.
absl::StatusOr<StepTotals> UpdateToRun(const StepWork& work, RunSink& sink);

}  // namespace weir::task
