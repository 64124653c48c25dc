#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {

/// Returns the upper ends of the consumers' key ranges, rising, the last = 1: how a step cuts its
/// result by keys. Errors: kInvalidArgument (a range of another kind, ends that fall, a last end
/// below 1).
absl::StatusOr<std::vector<double>> KeyEnds(const v1::StepOrder& order);

}  // namespace weir::task
