#pragma once

// MPI_Reduce and MPI_Allreduce as SimGrid's SMPI carries them out, with the algorithm that a given
// MPI library would select. Upstream: platform. Downstream: reduction_judge.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "simgrid/forward.h"

namespace weir::bench {

enum class MpiOperation { kReduce, kAllreduce };

/// Runs one collective of `bytes` of doubles between all hosts, one rank a host, and returns how
/// long it took until the last rank had returned, in simulated seconds.
///
/// Model: every rank begins at the same moment. The operation is a user's, declared commutative,
///   and takes combine_seconds_per_byte of its rank's host. `selector` is SimGrid's: "ompi",
///   "mpich", ... Large buffers of all ranks share their memory, so that their contents mean
///   nothing: only sizes count.
/// Requires: once a process, after BuildPlatform.
/// Errors: kInvalidArgument unless bytes is a multiple of 8 of at most 2^31 doubles.
absl::StatusOr<double> RunMpi(MpiOperation operation, const std::string& selector,
                              std::int64_t bytes, double combine_seconds_per_byte,
                              absl::Span<simgrid::s4u::Host* const> hosts);

/// Sets up SMPI. Requires: before BuildPlatform.
void ConfigureMpi(const std::string& selector);

}  // namespace weir::bench
