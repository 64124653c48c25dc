#pragma once

// A plan that has begun, planned on when workers are lost, come back, are new or slow: what is done
// stays done. Upstream: runtime/master/conduct, which tells how far the plan is. Downstream:
// CheckEdit, the conductor, Explain.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/edit/plan_change.h"
#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// What moving steps that could stay must gain of what is left: more than planning and switching
/// cost, and than a prediction errs by between two ways.
inline constexpr double kMoveGain = 0.05;

/// What giving up a step under way must gain of what is left, beside the best other way: what it
/// has done is lost, and its worker may yet be as fast as the others.
inline constexpr double kGiveUpGain = 0.1;

/// What EditPlan made of a plan. Plain data.
///
/// Numbers of steps are those of the plan before; parts of map steps that were cut are appended. In
/// `plan`, transfers stand as done, then under way, then waiting. Of done ones only those are left
/// that brought a piece of a section that counts; their sender need not be where the producer is
/// now. All times are seconds since the start of the run: true ones of what is done, true begins of
/// what is under way, predicted ones from now_s on of the rest.
struct PlanEdit {
  Plan plan;
  PlanState state;        // of `plan`
  Prediction prediction;  // of `plan`: makespan_s is the predicted end of the run
  /// By transfer of `plan`: its index in the plan before if it is done or under way, or kNoIndex.
  std::vector<TransferIndex> transfer_was;
  /// Steps that had begun or were done and wait again, rising. One that is under way on a worker
  /// that is there is given up: whoever runs the plan ends it.
  std::vector<StepIndex> redone;
  /// Steps that are done and stay so, and whose input appended steps (ComputeStep::is_rerun) read
  /// again for those who lack their sections, rising.
  std::vector<StepIndex> in_parts;
  /// Planned size of what had arrived and must move once more.
  Bytes moved_again = 0;
  /// One or two sentences for people: what was lost, what is done again, which way won.
  std::string why;
};

/// Says whether plans of this kind can be edited while they run.
/// Errors: kFailedPrecondition, naming why: loops, a step that reads one of no earlier layer.
absl::Status CheckEditable(const Plan& plan);

/// Plans on with the workers that are there.
///
/// Model: what has to be done again follows from who still lacks what (work_left.h); it is handed
///   out in several ways (step_homes.h: spread finely, spread in few parts, in whole steps, all to
///   one worker), and the ordinary order builders order what is left, with what is under way in its
///   place (order_rest.h). The way with the least predicted makespan is taken. Steps that have
///   not begun leave a worker that is slower than planned, or whose port is, or go to one that
///   joined, is new or got faster, where that ends sooner by kMoveGain of what is left; steps under
///   way on a slow worker are given up and made anew, maps in parts, where that ends sooner by
///   kGiveUpGain; so is what lies behind a slow port and is still to be sent. Slow workers get
///   nothing of either, but where that ends later by as much: how slow they are is a guess. What
///   may not stay (closed workers, steps that failed) leaves in every way. A done map
///   step whose run is lost stays done for those who have its sections; new steps read parts of its
///   input for the others. Made again whole, where that ends sooner, a run has all its sections, of
///   which only those move that somebody lacks. Of a reduction tree, steps and sections stay as
///   they are: a combine step whose run is lost before all have read it reads what is below it once
///   more, on another worker, and what of that is lost is made again in the same way. A map step
///   whose run is cut by places, and with PlanChange::whole_steps any, is done again in parts only
///   while nobody has any of it.
///   A way whose rest cannot be ordered, as of more transfers than its order is made for, is not
///   among them.
/// Errors: kUnavailable when nobody is left; kFailedPrecondition, naming why, for a plan that
///   cannot be edited (CheckEditable); kInvalidArgument when state or change do not belong to the
///   plan; where no way can be ordered, why the first cannot.
/// Requires: the plan passed CheckPlan, or is one that EditPlan made.
/// Thread-safety: pure; same input, same edit. Time: a few times that of OrderByPriority; measured
///   by tests/bench/edit.
/// Source: lost work cut finely over all survivors: F. Dinu, T. S. E. Ng, "RCMP", IPDPS 2014.
/// Checked by: tests/unit/planner_edit/edit_plan_test.cc, edit_plan_property_test.cc.
absl::StatusOr<PlanEdit> EditPlan(const Plan& plan, const PlanState& state,
                                  const PlanChange& change);

}  // namespace weir::planner
