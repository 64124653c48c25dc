#pragma once

// Lloyd's k-means over rows of numbers, as a loop. Upstream: the job catalog. Downstream:
// find_centroids.h.

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::kmeans {

std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::kmeans
