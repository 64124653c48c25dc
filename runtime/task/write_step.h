#pragma once

// Write steps: sections of output text joined into a part, no user code. Upstream: step_kinds.
// Downstream: stored_text.

#include "absl/status/statusor.h"
#include "runtime/task/step_kinds.h"

namespace weir::task {

/// Errors: those of reading sections and of the part.
absl::StatusOr<StepTotals> JoinTextToPart(const StepWork& work, PartSink& sink);

}  // namespace weir::task
