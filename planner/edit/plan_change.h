#pragma once

// What can happen to a plan that runs. Upstream: runtime/master. Downstream: EditPlan, CheckEdit.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/edit/plan_state.h"
#include "planner/plan/network_model.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// What a closed worker has begun to receive for a step stays there if the step is planned to end
/// so soon after it was closed: a worker that drains leaves after 30 s.
inline constexpr Seconds kClosedStayS = 20;

/// What has changed while a plan ran.
struct PlanChange {
  /// Workers that will do nothing any more, and whose runs nobody can read. May name those that are
  /// gone already.
  std::vector<WorkerIndex> lost = {};
  /// Workers that are there again, or for the first time.
  struct Joined {
    WorkerIndex worker = 0;
    /// Steps whose runs it kept whole: made there, from what the plan says now that they read.
    /// Those that wait to be made again elsewhere count as done.
    std::vector<StepIndex> runs = {};
  };
  std::vector<Joined> joined = {};
  /// Workers that get nothing new, as long as there is another one: they end what they have under
  /// way, their runs can be read, and what has not begun leaves them, unless it ends soon. May name
  /// workers that are gone.
  std::vector<WorkerIndex> closed = {};
  /// What of kClosedStayS is left to them, >= 0: the least of all.
  Seconds closed_stay_s = kClosedStayS;
  /// Steps that failed where they are: they wait, and are run whole by another worker, if there is
  /// one that gets anything new.
  std::vector<StepIndex> elsewhere = {};
  /// Steps whose runs cannot be read any more, though their workers are there. Whoever has a
  /// section of one keeps it.
  std::vector<StepIndex> runs_lost = {};
  /// A section of a run, by who made it and who reads it.
  struct SectionOf {
    StepIndex producer = kNoIndex;
    StepIndex consumer = kNoIndex;
  };
  /// Sections that had arrived and are of no use: they move once more. Their readers wait.
  std::vector<SectionOf> sections_lost = {};
  /// By worker: how fast it computes beside what was planned, > 0 (0.5: steps take twice as long,
  /// those under way too). Empty: as planned.
  std::vector<double> rate_factor = {};
  /// How fast all of them compute beside what was planned, > 0, times rate_factor: a prediction
  /// that was wrong of everybody makes nobody slow.
  double pace = 1;
  /// By worker: how fast its port is beside what was planned, both ways, > 0; no port gets faster
  /// than a channel. Empty: as planned.
  std::vector<double> port_factor = {};
  /// Workers that the plan does not know. They get the indices behind those that it has; all that
  /// is said of workers above is of those that it has.
  struct Added {
    std::vector<std::string> names = {};  // for people; none: nobody is added
    /// By worker, those of the plan first: how fast it computes by its profile, > 0, in any unit.
    /// Of one of the plan also 0: not known.
    std::vector<double> compute_rate = {};
    /// Of all of them, as the plan's between the workers that it has. Of a plan of one worker: any.
    /// What ports lag is not read.
    NetworkModel network = {};
  };
  Added added = {};
  /// What a map step makes of a piece of its input depends on more than that piece: one whose run
  /// is lost is made again as it was, never in parts for those who lack their sections.
  bool whole_steps = false;
};

/// A plan and how far it is, once a change is known, before anything is done about it. Plain data.
struct ChangedPlan {
  /// Steps last as long as measured, ports are as slow; runs that came back are there, and so are
  /// workers that were added.
  Plan plan;
  PlanState state;           // with those runs and workers
  std::vector<bool> alive;   // by worker
  std::vector<bool> closed;  // by worker: gets nothing new, and another one does
  /// By worker: is there, and slower than planned, or its port is.
  std::vector<bool> slow;
  /// By step: has not begun, and might end sooner on another worker: its own is slow, or has a slow
  /// port, or one joined, is new or got faster and nothing of what it reads has begun to move.
  std::vector<bool> may_move;
  /// By step: has not begun, and may not stay where it is: it failed there, or its worker is closed
  /// and it has received nothing yet, or would not end within closed_stay_s.
  std::vector<bool> must_move;
  /// By step: failed where it is, and another worker can run it.
  std::vector<bool> elsewhere;
  /// By step: is under way on a slow worker, and might end sooner where it is begun anew. Not those
  /// that store: what holds them up is the store.
  std::vector<bool> may_give_up;
  /// By step: is done, and what it made lies behind a slow port, whole, and is still to be sent.
  std::vector<bool> may_make_again;
  bool whole_steps = false;  // PlanChange::whole_steps
};

/// Applies what a change says of workers, runs and rates; hands nothing out.
/// Errors: kInvalidArgument when the change does not belong to the plan (of new workers:
///   added_workers.h); kUnavailable when no worker is left.
/// Requires: CheckState is OK. Thread-safety: pure. O(steps + transfers).
absl::StatusOr<ChangedPlan> ApplyChange(const Plan& plan, const PlanState& state,
                                        const PlanChange& change);

}  // namespace weir::planner
