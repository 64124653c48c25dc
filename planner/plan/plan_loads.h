#pragma once

// The rules of CheckPlan about bytes and keys: nothing lost, nothing twice.
// Upstream: CheckPlan, after CheckStructure.

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Checks that the loads of a plan add up.
///
/// - Map input ranges tile [0, total); input_bytes is the length of the range. Parts of the input,
///   if any, end there, too.
/// - Reducers are those of layers 1, 2, ...; none is left out. In each layer, mappers and reducers
///   are numbered 0 .. n - 1, load fractions add up to 1 (tolerance 1e-9) and key cuts tile [0, 1).
///   A fraction need not be the length of its cut: keys may weigh differently.
/// - Each (producer, consumer) pair has at most one section. A section between two workers is tiled
///   by its transfers and has at least one (an empty section: exactly one of 0 bytes, because
///   predicted 0 need not be measured 0). A section within a worker has none, and its producer is
///   among the consumer's after_steps. None goes to a mapper.
/// - Each reducer of layer p has a section from every mapper or reducer of layer p - 1; its
///   input_bytes is the sum of its sections; a producer's sections for reducers add up to its
///   output_bytes. A mapper or reducer below the last layer is read by some step. Where reducers
///   read combine steps, check_combined.h holds instead: every place of every output reaches them
///   once.
///
/// Requires: CheckStructure(plan) is OK.
/// Errors: kInvalidArgument naming the rule, the step or transfer, and the values that disagree.
/// Thread-safety: pure. O((sections + transfers) log) time.
/// Checked by: tests/unit/planner_plan/check_plan_test.cc,
///   tests/unit/planner_job/plan_job_property_test.cc.
absl::Status CheckLoads(const Plan& plan);

}  // namespace weir::planner
