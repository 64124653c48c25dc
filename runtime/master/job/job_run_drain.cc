// What a job does when workers are about to leave: what has not begun leaves them, and they go once
// nobody needs them. Upstream: Master (heartbeats). Downstream: JobMachine, JobRun::EditPlan.

#include <algorithm>

#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/job/job_run.h"

namespace weir::master {
namespace {

// A worker that has taken a job says so within this time: its task starts, or is reported.
constexpr absl::Duration kTaken = limits::kTaskStart;

}  // namespace

void JobRun::WorkerDrains(WorkerId worker, Epoch epoch) {
  const auto planned_for =
      std::find_if(workers_.begin(), workers_.end(),
                   [&](const RegisteredWorker& w) { return w.id == worker && w.epoch == epoch; });
  // One that was given names it.
  if (planned_for == workers_.end() || given_plan_) return;
  draining_since_[worker] = loop_.Now();
  // What was to have ended by then and waits, as the plan was wrong, is for others after all: they
  // read the worker's runs in the time that is left.
  loop_.RunAt(loop_.Now() + absl::Seconds(planner::kClosedStayS),
              callbacks_.Guard([this] { EditForThoseWhoLeave(); }));
  if (machine_.state() == v1::JOB_STATE_RUNNING) return EditForThoseWhoLeave();
  if (machine_.state() != v1::JOB_STATE_PLANNING) return;
  const bool others = !context_.alive_workers().empty();
  if (others || !reservation_.Holds(*planned_for)) return Apply(machine_.WorkerLost());
  // Nobody else is there, and it may have taken the job before it began to drain: then it runs it.
  // Else it refuses, and others are waited for.
  loop_.RunAt(loop_.Now() + kTaken, callbacks_.Guard([this, plan_epoch = plan_epoch_] {
    const bool refused = machine_.state() == v1::JOB_STATE_PLANNING;
    if (refused && plan_epoch == plan_epoch_) Apply(machine_.WorkerLost());
  }));
}

std::vector<planner::WorkerIndex> JobRun::DrainingWorkers() const {
  const std::vector<RegisteredWorker> open = context_.alive_workers();
  std::vector<planner::WorkerIndex> draining;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const auto index = static_cast<planner::WorkerIndex>(w);
    const bool is_open = std::any_of(open.begin(), open.end(), [&](const RegisteredWorker& worker) {
      return worker.id == workers_[w].id && worker.epoch == workers_[w].epoch;
    });
    // One that is lost holds nothing.
    if (!is_open && !plan_run_->gone(index) && reservation_.Holds(workers_[w])) {
      draining.push_back(index);
    }
  }
  return draining;
}

planner::Seconds JobRun::StayOf(const std::vector<planner::WorkerIndex>& draining) const {
  planner::Seconds stay_s = planner::kClosedStayS;
  for (const planner::WorkerIndex index : draining) {
    const auto since = draining_since_.find(workers_[planner::At(index)].id);
    if (since == draining_since_.end()) continue;
    const planner::Seconds drained_s = absl::ToDoubleSeconds(loop_.Now() - since->second);
    stay_s = std::max(0.0, std::min(stay_s, planner::kClosedStayS - drained_s));
  }
  return stay_s;
}

void JobRun::EditForThoseWhoLeave() {
  // Conduct asks again. What cannot be edited runs to its end with them.
  if (CanEdit() && !DrainingWorkers().empty()) EditPlan();
}

void JobRun::ReleaseDrained() {
  // The edit that is under way may count on their runs.
  if (editing_) return;
  for (const planner::WorkerIndex index : DrainingWorkers()) {
    if (plan_run_->Needs(index)) continue;
    LogInfo("A worker that is about to leave is needed no more",
            {{"job", status_.job_id()}, {"worker", NameOf(index)}});
    // Should its runs be wanted again, they are made again.
    plan_run_->WorkerLost(index);
    reservation_.LetGo(workers_[planner::At(index)].id);
  }
}

}  // namespace weir::master
