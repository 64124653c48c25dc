#pragma once

// The one billion row challenge: minimum, mean and maximum temperature of each station. Upstream:
// rows "station;temperature". Downstream: parts with lines "station=min/mean/max".

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::onebrc {

/// Makes the job `onebrc`. Checked by: tests/unit/jobs/onebrc_test.cc.
std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::onebrc
