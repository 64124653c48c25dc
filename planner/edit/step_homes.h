#pragma once

// Who does what lost workers leave. Upstream: EditPlan, which tries several ways. Downstream:
// edited_plan.

#include <vector>

#include "planner/edit/plan_state.h"
#include "planner/edit/work_left.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Shortest part of a map step worth a step of its own: an order, files and a report of a task that
/// runs already take about a tenth of it (docs/limits.md).
inline constexpr Seconds kShortestPartS = 0.1;

/// One way to hand out what is left.
struct HomeChoice {
  /// Workers over which map steps that can be cut are spread, those that get free first.
  std::int32_t spread = 1;
  /// One worker gets all of it: the one with the least left to do.
  bool one_worker = false;
  /// By worker: gets nothing, unless there is no other. Empty: none.
  std::vector<bool> spared = {};
  /// By worker: gets nothing, even where all others are spared. Empty: none.
  std::vector<bool> closed = {};
  /// By step: a whole step that does not stay on its worker, unless there is no other. Empty: none.
  std::vector<bool> elsewhere = {};
};

/// A homeless step, or a part of one, at its new place.
struct StepHome {
  WorkerIndex worker = 0;
  /// Of a step that reads input; others as they were.
  Bytes input_begin = 0;
  Bytes input_end = 0;
  Seconds duration_s = 0;
};

/// Returns the new places of every step that is homeless or made in parts, by step; none for
/// others. The parts of a step tile its input, in its order; only steps that can be cut, or are
/// made in parts, have several.
///
/// Model: layer by layer, a worker's load is what it has under way, or the end of the layers before
///   where that is later, its steps of the layer that have to begin, and the time its receive port
///   needs for what they read. A step takes elsewhere what it takes at its old place times the
///   ratio of the speeds, a part what PartOfTime says of its share. Steps that can be cut are
///   dealt, in the order of the input, so that the workers end together, no part shorter than
///   kShortestPartS; the others go to the worker that ends first
///   with them: behind what they read of their layer, else longest first.
/// Requires: a worker is alive and not closed. Thread-safety: pure; ties by index.
/// Time: O(sections * log + homeless steps * workers * steps of a layer).
std::vector<std::vector<StepHome>> FindHomes(const Plan& plan, const PlanState& state,
                                             const WorkLeft& left, const HomeChoice& choice);

}  // namespace weir::planner
