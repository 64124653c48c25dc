#pragma once

// In which order jobs that share ports should move their bytes. Pure. Upstream: PortArbiter.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/types/span.h"

namespace weir::master {

/// What one job still has to move.
struct CoflowDemand {
  /// How much its completion counts, > 0.
  double weight = 1;
  /// Seconds that each resource (a port, a cut) is busy for it, > 0; those that it does not use are
  /// missing.
  absl::btree_map<std::int64_t, double> seconds = {};
};

/// Returns the positions in `demands`, first to last, so that the weighted sum of completion times
/// is small.
///
/// Model: all demands are there now; a resource serves one second of demand a second. From the last
///   place to the first: the resource with most demand left is the bottleneck; of the jobs that use
///   it the one with the least weight per second there goes last, and the others lose of their
///   weight what it has in proportion (bottleneck - select - scale - iterate). Ties: the later
///   position goes last.
/// Symbols: d_jp = demands[j].seconds[p] (s), w_j = demands[j].weight. The permutation is within 2
///   of the least sum of w_j * max_p (prefix sum of d_ip up to j) of any; a schedule that keeps the
///   order on every port, whatever its rates, is within 4 of the best schedule at all.
/// Requires: weights and seconds are finite and > 0. Thread-safety: pure. O(n^2 p).
/// Source: Agarwal, Rajakrishnan, Narayan, Agarwal, Shmoys, Vahdat, "Sincronia: near-optimal
/// network
///   design for coflows", SIGCOMM 2018, algorithm 1; Mastrolilli et al., "Minimizing the sum of
///   weighted completion times in a concurrent open shop", 2010.
/// Example: two jobs on one port, 1 s and 10 s, equal weights: the one of 1 s first.
/// Checked by: tests/unit/master/coflow_order_test.cc (brute force).
std::vector<std::size_t> OrderCoflows(absl::Span<const CoflowDemand> demands);

}  // namespace weir::master
