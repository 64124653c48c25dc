#pragma once

// A run that is not as planned under a straggler watch, and under the edits that it asks for. Pure.
// For tests of the watch, and the bench of edits.

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/edit/edit_plan.h"
#include "planner/plan/plan.h"
#include "runtime/master/stragglers/straggler_watch.h"
#include "tests/unit/planner_edit/true_run.h"

namespace weir::master {

/// What heartbeats tell of steps under way.
enum class Heard { kBytes, kNothing };

/// Whether edits are made, or the plan stays.
enum class Edits { kNone, kTaken };

/// What came of it.
struct WatchedRun {
  planner::Seconds makespan_s = 0;
  struct Named {
    planner::Seconds at_s = 0;
    StragglerDecision decision;
    planner::PlanEdit edit = {};  // where it was taken
  };
  std::vector<Named> named = {};
};

/// Runs to the end and looks every half a second; less often in runs that last more than half an
/// hour. Each edit is given to `check`, and taken at once.
WatchedRun RunWatched(
    const planner::Plan& plan, const planner::Reality& reality, Heard heard, Edits edits,
    const std::function<void(const planner::Plan&, const planner::PlanState&,
                             const planner::PlanChange&, const planner::PlanEdit&)>& check =
        nullptr);

/// A plan of `num_workers` equal workers and links of 1 Gbit/s, ordered in the shuffle: maps of
/// `map_s` seconds for each worker, in `maps_each` steps, which leave `output_ratio` of 10 MB/s
/// input, and a tenth of that time to reduce.
planner::Plan WordCountLike(std::int32_t num_workers, std::int32_t maps_each,
                            planner::Seconds map_s, double output_ratio);

}  // namespace weir::master
