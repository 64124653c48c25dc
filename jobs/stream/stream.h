#pragma once

// Scripts as mappers and reducers, by the contract of Hadoop Streaming. Upstream: text files.
// Downstream: parts with the lines of the reducers.

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::stream {

/// Makes the job `stream`. Checked by: tests/unit/jobs/stream/stream_test.cc.
std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::stream
