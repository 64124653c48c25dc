#pragma once

// PageRank over an edge list, as a loop. Upstream: the job catalog. Downstream: find_ranks.h.

#include <memory>

#include "jobs/api/job_definition.h"

namespace weir::pagerank {

std::unique_ptr<JobDefinition> MakeDefinition();

}  // namespace weir::pagerank
