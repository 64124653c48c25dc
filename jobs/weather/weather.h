#pragma once

// Mean of the daily maximum temperatures of each station and day of the year: a job of two layers.
// Upstream: CSV or NCDC lines. Downstream: parts with lines "station TAB MM-DD TAB mean".

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::weather {

/// Makes the job `weather`. Checked by: tests/unit/jobs/weather_test.cc.
std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::weather
