#pragma once

// Field by field checks of what the planner is told. Upstream: PlanJob. Downstream: the builders,
// which trust it.

#include "absl/status/status.h"
#include "planner/job/job_shape.h"

namespace weir::planner {

/// Largest numbers that a plan may have; what is above them is a mistake of units or of a flag.
inline constexpr std::int32_t kMappersMax = 1'000'000;
inline constexpr std::int32_t kReducersMax = 1'000'000;
inline constexpr std::size_t kLayersMax = 64;
/// Producer-consumer pairs of one layer; each is a section and mostly a transfer of about 100 bytes
/// of memory.
inline constexpr std::int64_t kPairsMax = 20'000'000;
/// Bytes of a vector that is combined.
inline constexpr Bytes kElementBytesMax = 4'000'000'000'000'000'000;

/// Checks sizes, rates and counts of a job.
/// Errors: kInvalidArgument naming field, value and legal range.
absl::Status CheckJobShape(const JobShape& shape);

/// Checks the workers and the network between them.
/// Errors: kFailedPrecondition when there is no worker; kInvalidArgument naming field, value and
///   legal range.
absl::Status CheckCluster(const ClusterProfile& cluster);

}  // namespace weir::planner
