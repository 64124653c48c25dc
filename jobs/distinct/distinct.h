#pragma once

// Counts distinct values of the columns of CSV rows. Upstream: CSV files. Downstream: parts with
// lines "column or key TAB count".

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::distinct {

/// Makes the job `distinct`. Checked by: tests/unit/jobs/distinct_test.cc.
std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::distinct
