#pragma once

// Loads of one layer in microseconds: closed form where it is exact, otherwise the best of the
// rules below, certified by the cuts.
// Upstream: cut_bound.h. Downstream: solve_layer.h; exact_layer.h starts from here.

#include <vector>

#include "planner/load/cut_bound.h"
#include "planner/load/layer.h"

namespace weir::planner::load {

/// Which rule made the loads.
enum class LoadRule {
  kClosedForm,      // L max(delta) <= 1: hand-over of channels
  kAllTight,        // x_k = pi_k - pi_{k+1}
  kEqualGroups,     // equal loads inside the groups of the recursion's chain
  kBackwardGreedy,  // each sender, from the last, takes the most that the cuts leave it
  kEqualShares,     // 1/n each
  kStartupForced,   // T = n S: any split that fits
  kCutProgram,      // exact: lazy-cut linear program
  kSourceProgram,   // exact: the source's own linear program
};

/// Returns a name for people: "closed form", "all tight", ...
const char* LoadRuleName(LoadRule rule);

/// Loads of one layer in scaled units.
struct ScaledLoads {
  /// Fraction of V of each sender, in finishing order; sums to 1.
  std::vector<double> share;
  /// Makespan of these loads by the cuts, and the lower bound. time >= bound - rounding.
  double time = 0;
  double bound = 0;
  LoadRule rule = LoadRule::kAllTight;
  int newton_steps = 0;
};

/// Returns whether the closed form below is exact: only the cut of width L can bind.
bool HasClosedForm(const ScaledLayer& layer);

/// Returns the loads by hand-over: sender k passes its channel to sender k + L.
///
/// Model: mapper: t_k = (c k S + A t_{k+L}) / (A + c), x_k = (t_{k+L} - k S) / (A + c), t_{>n} = T.
///   Reducer: equal groups of L from the first sender, the last one partial: t_g = T - c P_g / L. T
///   makes the sum of x_k one (linear in T for mappers; Newton for reducers).
/// Requires: HasClosedForm(layer).
/// Time: O(n) per Newton step.
/// Source: 004 sections 5.3 and 5.4 observe these groups (figures 7a, 9a, 11a, 12a); the formulas
///   are ours.
ScaledLoads ClosedFormLoads(const ScaledLayer& layer);

/// Returns the best loads of the fast rules and the bound.
///
/// Bounds: mappers met the bound on every instance tried; reducers came within 1e-3 of it on 1 999
///   of 2 000 and within 5e-3 on all (measured, not proven). The certified gap is time / bound - 1.
/// Time: O(n |Q|) times about ten. Thread-safety: pure; same input, same bits.
/// Checked by: tests/unit/planner_load/fast_layer_test.cc, oracle_test.cc, property_test.cc.
ScaledLoads FastLoads(const ScaledLayer& layer);

}  // namespace weir::planner::load
