#pragma once

// Quantiles of the columns of CSV rows. Upstream: CSV files. Downstream: parts with lines "column
// or key TAB count TAB percentiles...".

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::quantiles {

/// Makes the job `quantiles`. Checked by: tests/unit/jobs/quantiles_test.cc.
std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::quantiles
