#pragma once

// Sorts records of 100 bytes by their 10-byte keys. Upstream: files of records. Downstream: parts
// that are sorted one after the other.

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::terasort {

/// Makes the job `terasort`. Checked by: tests/unit/jobs/terasort_test.cc.
std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::terasort
