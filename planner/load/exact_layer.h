#pragma once

// The optimum of a reducer layer by a linear program in 2 n + 1 variables whose cuts are added when
// they are violated.
// Upstream: fast_layer.h (start). Downstream: solve_layer.h.

#include "absl/status/statusor.h"
#include "planner/load/fast_layer.h"
#include "planner/load/layer.h"

namespace weir::planner::load {

/// Solves min T over P_k (load of senders k .. n), G_k (their finish times summed) and T.
///
/// Model: P_1 = 1; P_k - 2 P_{k+1} + P_{k+2} <= 0 (loads do not fall: (2) with equal reducers); G_k
///   - G_{k+1} >= every tangent of F at P_k - P_{k+1} (9); cuts c D_q P_k + G_k - G_{k+q} <= q T.
///   Cuts and tangents enter when violated by more than 1e-10.
/// Returns: loads, their time by the cuts, and as bound the program's optimum; rule kCutProgram.
/// Requires: a reducer layer.
/// Errors: kInternal if Clp fails or the cuts do not close in 200 rounds.
/// Time: 0.07 s at n = 300.
/// Checked by: tests/unit/planner_load/oracle_test.cc, property_test.cc (against the full program
///   (1)-(9)).
/// Source: ours; equal to 004 (1)-(9) if the cuts suffice (see CutRecursion).
absl::StatusOr<ScaledLoads> ExactReducerLoads(const ScaledLayer& layer, const ScaledLoads& start);

}  // namespace weir::planner::load
