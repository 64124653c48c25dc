#include "tests/sim/edit_checks.h"

#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "planner/edit/edit_plan.h"
#include "planner/wire/plan_wire.h"

namespace weir::sim {
namespace {

bool CanBeEdited(const v1::Plan& message) {
  const absl::StatusOr<planner::Plan> plan = planner::PlanFromProto(message);
  return plan.ok() && planner::CheckEditable(*plan).ok();
}

/// Whether somebody who works in the plan, and so holds the job, was not lost and is in the next
/// one.
bool AnyLeft(const v1::Plan& plan, const v1::JournalRecord::JobPlanned& next) {
  std::set<std::string> left(next.plan().worker_names().begin(), next.plan().worker_names().end());
  for (const v1::WorkerLoss& loss : next.losses()) left.erase(loss.worker());
  for (int w = 0; w < plan.worker_names_size(); ++w) {
    if (plan.compute_order(w).index_size() > 0 && left.contains(plan.worker_names(w))) return true;
  }
  return false;
}

}  // namespace

void CheckPlannedOnce(World& world, std::vector<std::string>& findings) {
  for (const UserJob& job : world.jobs()) {
    if (job.spec.has_plan()) continue;  // it is run as it was given
    bool runs = false;
    std::optional<v1::Plan> plan;
    for (const v1::JournalRecord& record : world.journal().records()) {
      if (record.has_master_started()) runs = false;
      if (record.job_id() != job.id) continue;
      if (record.has_job_state_changed()) {
        runs = runs || record.job_state_changed().state() == v1::JOB_STATE_RUNNING;
      }
      if (!record.has_job_planned()) continue;
      const v1::JournalRecord::JobPlanned& next = record.job_planned();
      const bool again = runs && next.plan_edit() == 0;
      if (again && plan && CanBeEdited(*plan) && AnyLeft(*plan, next)) {
        findings.push_back(absl::StrCat(job.id, " was planned again (epoch ", next.plan_epoch(),
                                        "), though its plan could be edited"));
      }
      if (next.plan_edit() == 0) runs = false;
      plan = next.plan();
    }
  }
}

}  // namespace weir::sim
