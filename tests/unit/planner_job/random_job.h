#pragma once

// Random jobs and clusters for property tests: all regimes, small enough for a naive simulation.

#include "planner/job/job_shape.h"

namespace weir::planner {

struct RandomJob {
  JobShape shape;
  ClusterProfile cluster;
};

enum class JobKind {
  kAny,
  /// At least 3 workers, one mapper and reducer on each, and every transfer takes time.
  kBusy,
};

/// Draws from RapidCheck: 1 to 6 workers of different speeds, no cut, one limited total, or two
/// racks (with or without a total), equal or slow ports; 0 to 9 mappers and reducers, 1 to 3
/// layers, empty to 10^12 bytes; in one job of three some files cannot be cut.
/// Requires: called inside a RapidCheck property.
RandomJob DrawJob(JobKind kind);

/// The same whose layers make tables or vectors that can be combined, or neither: commutative or
/// not, split or whole. Requires: called inside a RapidCheck property.
RandomJob DrawCombinedJob();

}  // namespace weir::planner
