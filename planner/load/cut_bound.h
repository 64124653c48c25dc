#pragma once

// The lower bound of a layer by the cut recursion, and the makespan of given loads by the same
// cuts.
// Upstream: layer.h. Downstream: fast_layer.h, exact_layer.h, chain.h.

#include <cstdint>
#include <vector>

#include "planner/load/layer.h"

namespace weir::planner::load {

/// The most load that senders k .. n can deliver by time T, for every k, and where it binds.
///
/// Model: every schedule whose senders finish in index order satisfies, for all k and q <= L, with
///   q' = min(q, n - k + 1) and D = 1 if q >= n - k + 1:
///     c * D_q * P_k + sum_{j=k}^{k+q'-1} t_j <= q' * T (cut)
/// where P_k is the load of senders k .. n: after t_j the q' first of them have q' * T - sum t_j
/// seconds of channel to the q largest receivers. With pi_{n+1} = 0 this gives, backward,
///     mapper:  pi_k = min_q (q' T + A pi_{k+q'} - S sum_{j=k}^{k+q'-1} j) / (c D + A)
///     reducer: pi_k = min_q (q' u + pi_{k+q'}),  c D u + F(u) = T - c D pi_{k+q'} / q'.
/// Symbols: those of ScaledLayer; pi[k - 1] = pi_k, pi[n] = 0; slope[k - 1] = d pi_k / dT;
///   chain[k - 1] = the minimal q'.
/// Source: 004 (3)-(8), (13)-(18): sums of these rows over intervals and ports.
/// Necessary: proven that way.
/// Sufficient: held on every random instance, unproven.
struct CutRecursion {
  std::vector<double> pi;
  std::vector<double> slope;
  std::vector<std::int32_t> chain;
};

/// Evaluates the recursion at time T (scaled). O(n |Q|).
CutRecursion EvaluateCuts(const ScaledLayer& layer, double time);

/// The bound and the recursion at it.
struct CutBound {
  /// Least T with pi_1(T) >= 1; for mappers at least n S (even an unused mapper finishes at j S in
  /// (10)-(21), FIFO).
  double time = 0;
  /// n S decides: more mappers are started than the load can use.
  bool forced_by_startup = false;
  int newton_steps = 0;
  /// At `time`, or at the last point before it (5e-13 away).
  CutRecursion recursion;
};

/// Finds the bound by Newton's method on the concave function pi_1(T).
///
/// Returns: every schedule of the layer takes at least `time` (scaled). Stops at a relative step of
///   5e-13; a smaller limit makes rounding cycle.
/// Time: O(n |Q|) per step, at most about six steps. Thread-safety: pure.
CutBound FindCutBound(const ScaledLayer& layer);

/// Returns the least time (scaled) at which all cuts allow `share`: the certified makespan of these
/// loads.
///
/// Requires: shares >= 0, in finishing order (reducers: non-decreasing). For mappers the sets of
///   senders of a cut need not be the last ones, so all of them are searched.
/// Time: reducers O(n |Q|); mappers O(n |Q|), O(n |Q| log L) for the few widths where the quick
///   test fails.
double CutMakespan(const ScaledLayer& layer, const std::vector<double>& share);

}  // namespace weir::planner::load
