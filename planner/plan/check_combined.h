#pragma once

// Conservation of what is combined before it is reduced: reduction trees between two layers.
// Upstream: plan_loads (CheckPlan), builders of trees. Downstream: nothing.

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Most pieces of partial results that one check follows: some seconds.
inline constexpr std::int64_t kPiecesFollowedMax = std::int64_t{1} << 27;

/// Returns the layers p whose reduce steps get the runs of layer p - 1 through combine steps, all
/// or some of them. Layers whose reduce steps also read steps of other free kinds are not among
/// them. Requires: CheckStructure(plan) is OK, and sections name steps that exist.
std::set<std::int32_t> CombinedLayers(const Plan& plan);

/// Checks that in each of these layers every place of every element (the runs of the layer before)
/// reaches the reduce steps exactly once, through combine steps or directly.
///
/// Model: an element has the places [0, N), N the largest end of a section of the layer. A combine
///   step holds, place by place, what its sections bring. Each producer of the layer before has a
///   64-bit fingerprint, a place of a partial result the sum of those of its operands; a reduce
///   step must read the sum of all, for each place of its keys.
/// - Sections take only places that their producer holds; those of combine steps say which
///   (Section::indexes), those of reduce steps may stand for the places of the step's keys.
/// - A combine step reads runs of the layer before and combine steps of its own layer; it is read
/// by
///   such and by reduce steps of the layer. Those of one layer are numbered from 0, each once.
/// - Somebody takes every place that a combine step holds.
/// - A producer's sections add up to its output_bytes.
/// Proven: a plan that passes loses and doubles nothing, unless sums of fingerprints collide (2^-64
///   a place).
/// Errors: kInvalidArgument naming step, section and places.
/// Thread-safety: pure. Time: O(sections * pieces a section cuts its producer into * log), at most
///   kPiecesFollowedMax pieces.
/// Checked by: tests/unit/planner_plan/check_combined_test.cc,
///   tests/unit/planner_job/combined_plan_property_test.cc.
absl::Status CheckCombined(const Plan& plan);

/// Checks that every step of a combined layer folds neighbours only, in the order in which its
/// sections stand: operands are the runs of the layer before by index_in_layer. What operations
/// that do not commute need; a Plan does not say which those are. OK for a layer that is not
/// combined.
/// Requires: CheckPlan(plan) is OK. Errors and time: as CheckCombined.
absl::Status CheckOperandOrder(const Plan& plan, std::int32_t layer);

/// The same of all layers.
absl::Status CheckOperandOrder(const Plan& plan);

}  // namespace weir::planner
