#pragma once

// Histogram of one column of CSV rows. Upstream: CSV files. Downstream: parts with lines "from TAB
// to TAB count".

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::histogram {

/// Makes the job `histogram`. Checked by: tests/unit/jobs/histogram_test.cc.
std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::histogram
