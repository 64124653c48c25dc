#pragma once

// The job `framed`: programs that speak frames of typed records as mapper and reducer, as Python
// functions do. Upstream: the catalog of jobs. Downstream: framed_program.h.

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::stream {

/// Checked by: tests/integration/python_test.py.
std::unique_ptr<JobDefinition> MakeFramedDefinition();

}  // namespace weir::stream
