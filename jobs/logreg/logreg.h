#pragma once

// Logistic regression over CSV rows, as a loop. Upstream: the job catalog. Downstream:
// fit_weights.h.

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::logreg {

std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::logreg
