#pragma once

// Map steps: ranges of the input through the job's Map. Upstream: step_kinds. Downstream: the
// engine (JobProgram).

#include "absl/status/statusor.h"
#include "runtime/task/step_kinds.h"

namespace weir::task {

/// Errors: those of the job; what user code throws becomes USER_ERROR.
absl::StatusOr<StepTotals> MapToRun(const StepWork& work, RunSink& sink);

}  // namespace weir::task
