#pragma once

// Counts words. Upstream: text files. Downstream: parts with lines "word TAB count".

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::wordcount {

/// Makes the job `wordcount`. Checked by: tests/unit/jobs/wordcount_test.cc.
std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::wordcount
