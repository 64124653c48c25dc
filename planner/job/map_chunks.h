#pragma once

// Where the input is cut between mappers. Upstream: even_plan, load_split, tree_plan, loop_plan.
// Downstream: whole_bytes.

#include <vector>

#include "absl/types/span.h"
#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Splits the input in proportion to `shares`, at borders that it has: one inside an uncut range
/// moves to the nearer end of that range, to its end when both are as near.
///
/// Without uncut ranges these are the parts of WholeBytes; with them some may be empty. The parts
/// add up to the input. Requires: as WholeBytes; CheckJobShape is OK. Thread-safety: pure.
/// Checked by: tests/unit/planner_job/map_chunks_test.cc.
std::vector<Bytes> MapChunks(const JobShape& shape, absl::Span<const double> shares);

/// Returns the chunks of an even split: as many as the shape asks for, else one for each of N
/// workers, without those that uncut ranges leave empty.
std::vector<Bytes> EvenChunks(const JobShape& shape, std::int32_t num_workers);

/// Most mappers, at most one a worker, that can have something to read: fewer than workers where
/// the input is nothing but fewer uncut ranges.
std::int32_t MappersMax(const JobShape& shape, std::int32_t num_workers);

/// Size of the largest uncut range; 0 = none.
Bytes LargestUncut(const JobShape& shape);

/// Says whether nobody could take a part of what the busiest mapper reads: it is one uncut range.
bool LargestChunkIsUncut(const JobShape& shape, const Plan& plan);

}  // namespace weir::planner
