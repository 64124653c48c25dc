#include "tests/sim/edit_checks.h"

#include <algorithm>
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

/// Whether somebody of the one plan is also in the other.
bool AnyShared(const v1::Plan& one, const v1::Plan& other) {
  const std::set<std::string> others(other.worker_names().begin(), other.worker_names().end());
  return std::any_of(one.worker_names().begin(), one.worker_names().end(),
                     [&others](const std::string& worker) { return others.contains(worker); });
}

}  // namespace

void CheckPlannedOnce(World& world, std::vector<std::string>& findings) {
  for (const UserJob& job : world.jobs()) {
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
      if (again && plan && CanBeEdited(*plan) && AnyShared(*plan, next.plan())) {
        findings.push_back(absl::StrCat(job.id, " was planned again (epoch ", next.plan_epoch(),
                                        "), though its plan could be edited"));
      }
      if (next.plan_edit() == 0) runs = false;
      plan = next.plan();
    }
  }
}

}  // namespace weir::sim
