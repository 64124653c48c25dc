#pragma once

// A job as a chain of divisible load (004). Upstream: LoadPlan, OneMoreNotes. Downstream:
// planner/load.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/job/job_shape.h"
#include "planner/load/chain.h"

namespace weir::planner {

/// Returns the chain of the job with as many mappers and reducers as were asked for, else as
/// workers can use. Model: that of LoadPlan; a chain knows only equal workers, so those of a layer
/// have the mean compute rate of as many of the fastest as it has steps.
/// Requires: CheckJobShape and CheckCluster are OK.
load::Chain ChainOf(const JobShape& shape, const ClusterProfile& cluster);

/// Returns the number of steps of layer `p` of a chain, of its mappers for 0.
std::int32_t& CountOf(load::Chain& chain, std::size_t p);

/// Sets the chain's map output ratio to that of an even chunk, because its mappers are linear; to
/// be done again when their number has changed.
void SetOutputRatio(const JobShape& shape, load::Chain& chain);

/// Sets what a byte costs in each layer of the chain on workers whose compute rates have these
/// means: rates[0] of the mappers', rates[p] > 0 of those of the reducers of layer p. Start-ups
/// take as long on any worker.
void SetCosts(const JobShape& shape, absl::Span<const double> rates, load::Chain& chain);

/// Returns the chains worth solving, the cheapest to try first: one, two, four, ... workers,
/// because data that stays on its worker does not move; as many as the chain itself chooses; every
/// worker used.
std::vector<load::Chain> ChainsOf(const JobShape& shape, const ClusterProfile& cluster);

}  // namespace weir::planner
