#pragma once

// Reduce steps: sections of the layer before through the job's Combine or Reduce. Upstream:
// step_kinds. Downstream: the engine (JobProgram).

#include "absl/status/statusor.h"
#include "runtime/task/step_kinds.h"

namespace weir::task {

/// Makes the run for the next layer, or, where the order says so, the text of a part in one section
/// for the step that stores it. Errors: those of the job and of reading sections; what user code
/// throws becomes USER_ERROR.
absl::StatusOr<StepTotals> ReduceToRun(const StepWork& work, RunSink& sink);

/// Makes the part itself. Errors: as ReduceToRun.
absl::StatusOr<StepTotals> ReduceToPart(const StepWork& work, PartSink& sink);

}  // namespace weir::task
