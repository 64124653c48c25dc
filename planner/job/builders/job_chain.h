#pragma once

// A job as a chain of divisible load (004). Upstream: LoadPlan, OneMoreNotes. Downstream:
// planner/load.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/job/job_shape.h"
#include "planner/load/chain.h"

namespace weir::planner {

/// Returns the chain of the job with as many mappers and reducers as were asked for, else as
/// workers can use. Model: that of LoadPlan. Requires: CheckJobShape and CheckCluster are OK.
load::Chain ChainOf(const JobShape& shape, const ClusterProfile& cluster);

/// Returns the number of steps of layer `p` of a chain, of its mappers for 0.
std::int32_t& CountOf(load::Chain& chain, std::size_t p);

/// Sets the chain's map output ratio to that of an even chunk, because its mappers are linear; to
/// be done again when their number has changed.
void SetOutputRatio(const JobShape& shape, load::Chain& chain);

/// Returns the chains worth solving, the cheapest to try first: one, two, four, ... workers,
/// because data that stays on its worker does not move; as many as the chain itself chooses; every
/// worker used.
std::vector<load::Chain> ChainsOf(const JobShape& shape, const ClusterProfile& cluster);

}  // namespace weir::planner
