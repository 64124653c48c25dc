#pragma once

// How far a run is and how long it will still take. Pure. Upstream: ConductorRun. Downstream:
// JobStatus.

#include <cstdint>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"
#include "runtime/master/conduct/plan_progress.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

/// Returns progress and the time left.
///
/// Model: f = share of all planned work (seconds of steps and transfers) that is done, a running
/// map
///   counted by its bytes. What the plan says is left, (1 - f) * predicted makespan, and what the
///   run so far says, elapsed * (1 - f) / f, are mixed: (1 - f) and f are their weights, so the
///   plan counts at the beginning and experience at the end. A running step that has read all its
///   input, as scripts soon have, counts as one byte and a twentieth of its work less than that;
///   once the predicted time is over, the time left is not known.
/// `step_bytes_done`: input bytes of each running step, as last heard; 0 elsewhere.
/// Thread-safety: pure. Time: O(steps + transfers).
/// Checked by: tests/unit/master/progress_test.cc.
v1::JobProgress MeasureProgress(const planner::Plan& plan, const planner::Prediction& prediction,
                                const PlanProgress& done_so_far,
                                const std::vector<std::int64_t>& step_bytes_done, double elapsed_s);

/// Progress of a job that has a plan but has not begun to run it.
v1::JobProgress ProgressBeforeRun(const planner::Plan& plan, const planner::Prediction& prediction);

}  // namespace weir::master
