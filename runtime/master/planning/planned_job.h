#pragma once

// The planner's whole answer: a plan that was checked, predicted and explained. Pure;
// MakePlannedJob runs on the compute pool. Upstream: PlanRequest, or a given plan. Downstream:
// JobRun, ConductorRun.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/edit/plan_change.h"
#include "planner/edit/plan_state.h"
#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"
#include "weir/v1/plan.pb.h"

namespace weir::master {

struct PlanRequest;

/// A plan that was checked and predicted.
struct PlannedJob {
  planner::Plan plan;
  planner::Prediction prediction;
  std::vector<std::string> worker_names;
  /// The network's rates are measured or given, not guessed.
  bool network_known = false;
  /// What it was made from.
  planner::JobShape shape;
  planner::ClusterProfile cluster;
  std::string plan_id;
  std::string plan_text;
  v1::Plan message;
};

/// Builds, checks, predicts and explains the plan. Errors: what the planner says; DISK_FULL when a
/// worker would hold more than its disk has free, by numbers that were measured, not guessed;
/// kInternal when the planner's own plan does not hold.
absl::StatusOr<PlannedJob> MakePlannedJob(const PlanRequest& request);

/// Checks, predicts and explains a plan for these workers (by WorkerIndex). Errors: kInternal when
/// it does not hold.
absl::StatusOr<PlannedJob> FinishPlannedJob(planner::Plan plan,
                                            std::vector<std::string> worker_names,
                                            const std::string& job);

/// Whether plans of its kind can be edited while they run.
bool CanBeEdited(const PlannedJob& planned);

/// A plan that ran, edited: what was done of it stays done. Plain data.
struct EditedJob {
  std::shared_ptr<const PlannedJob> planned;
  planner::PlanState state;  // of the edited plan
  std::vector<planner::TransferIndex> transfer_was;
  std::vector<planner::StepIndex> redone;
  std::vector<planner::StepIndex> in_parts;  // PlanEdit::in_parts
  planner::Bytes moved_again = 0;
  /// Steps are done again, or by others than before.
  bool moves = false;
  std::string why;

  /// Whole, or in parts for those who lack their sections.
  std::size_t steps_done_again() const { return redone.size() + in_parts.size(); }
};

/// Edits and explains a plan that runs. `note`: for people, why. Pure; runs on the compute pool.
/// Errors: as EditPlan.
absl::StatusOr<EditedJob> EditPlannedJob(const PlannedJob& planned, const planner::PlanState& state,
                                         const planner::PlanChange& change,
                                         const std::string& note);

}  // namespace weir::master
