#pragma once

// The most frequent words of text, in bounded memory. Upstream: text files. Downstream: one part
// with lines "word TAB count".

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::topwords {

/// Makes the job `topwords`. Checked by: tests/unit/jobs/topwords_test.cc.
std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::topwords
