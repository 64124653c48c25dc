#pragma once

#include "jobs/api/job_definition.h"

namespace weir::app {

/// Returns the jobs of this program.
JobCatalog MakeJobCatalog();

}  // namespace weir::app
