// What a job does when its plan fails: asks whose fault that is. Upstream: ConductorRun,
// JobReservation, Planning, CommitOutput, by their errors. Downstream: StepBlame, RunBlame,
// JobRun::EditPlan, JobRun::TakeLoss.

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/log.h"
#include "runtime/master/job/job_run.h"
#include "runtime/master/planning/disk_need.h"
#include "runtime/master/planning/find_step.h"

namespace weir::master {

std::vector<DiskRoom> JobRun::RoomOfWorkers() const {
  std::vector<DiskRoom> rooms;
  absl::btree_map<std::string, std::size_t> by_name;
  for (const RegisteredWorker& w : context_.alive_workers()) {
    by_name[w.identity.name()] = rooms.size();
    rooms.push_back(
        {w.identity.name(), w.epoch, w.identity.handover_domain(), w.profile.free_disk_bytes()});
  }
  // A given plan says nothing of its workers but their names.
  if (!planned_ || std::ssize(planned_->cluster.workers) != planned_->plan.network.num_workers) {
    return rooms;
  }
  std::vector<std::string> domains;
  for (const auto& worker : planned_->cluster.workers) {
    const auto alive = by_name.find(worker.name);
    domains.push_back(alive == by_name.end() ? "" : rooms[alive->second].disk);
  }
  const std::vector<DiskNeed> needs = DiskNeeds(planned_->plan, domains);
  for (std::size_t w = 0; w < needs.size(); ++w) {
    const auto alive = by_name.find(planned_->cluster.workers[w].name);
    if (alive != by_name.end()) {
      rooms[alive->second].needed_bytes = static_cast<std::int64_t>(needs[w].Most());
    }
  }
  return rooms;
}

StepInput JobRun::InputOfStep(const std::string& step_name) const {
  if (!planned_) return {};
  const planner::ComputeStep* step = FindStep(planned_->plan, step_name);
  if (step == nullptr) return {};
  return {step->kind->name, step->input_begin, step->input_end};
}

void JobRun::BlameTheRefuted(const v1::JournalRecord::StepCommitted& done) {
  const planner::ComputeStep& step = planned_->plan.steps[planner::At(done.step())];
  const std::string name = planner::StepName(planned_->plan, done.step());
  const StepInput input{step.kind->name, step.input_begin, step.input_end};
  for (const std::string& worker : blame_.Refuted(name, input, done.worker())) {
    LogWarning("The job's code failed on one worker only", {{"job", status_.job_id()},
                                                            {"step", name},
                                                            {"worker", worker},
                                                            {"done_by", done.worker()}});
    const auto loss = std::find_if(
        status_.mutable_losses()->rbegin(), status_.mutable_losses()->rend(),
        [&](const auto& told) { return told.worker() == worker && told.step() == name; });
    if (loss == status_.mutable_losses()->rend()) continue;
    loss->set_why(absl::StrCat(loss->why(), "; worker ", done.worker(),
                               " has done that step: worker ", worker, " is to blame"));
  }
}

void JobRun::NameInput(const StepInput& input, v1::JobError& error) const {
  if (!input_ || !error.file().empty() || input.begin == input.end) return;
  const std::vector<v1::InputRange> ranges = input_->Cut(input.begin, input.end);
  if (ranges.empty()) return;
  error.set_file(ranges[0].path());
  error.set_byte_offset(ranges[0].begin());
  error.set_message(absl::StrCat(error.message(), "; it was given ", ranges[0].path(),
                                 " from byte ", ranges[0].begin(), " to ", ranges[0].end()));
  if (ranges.size() > 1) {
    error.set_message(absl::StrCat(error.message(), " and ", ranges.size() - 1, " more files"));
  }
}

void JobRun::EndBy(v1::JobError error, const StepInput& input) {
  const std::string& code = error.code();
  const bool killed = code == job_error::kTaskCrashed || code == job_error::kOutOfMemory;
  if (killed) NameInput(input, error);
  Fail(std::move(error));
}

// Nothing brings them back into the job: others may want the room that the job has taken there.
void JobRun::LetGoOfFull(const BlameVerdict& verdict) {
  const std::vector<std::string>& full = verdict.without_room;
  for (const RegisteredWorker& worker : workers_) {
    if (std::find(full.begin(), full.end(), worker.identity.name()) == full.end()) continue;
    reservation_.LetGo(worker.id);
  }
}

void JobRun::PlanFailed(v1::JobError error) {
  const StepInput input = InputOfStep(error.step());
  BlameVerdict verdict = blame_.Failed(std::move(error), input, RoomOfWorkers(), loop_.Now());
  if (!verdict.plan_again) return EndBy(std::move(verdict.error), input);
  LetGoOfFull(verdict);
  TakeLoss(verdict.error.worker(), absl::StrCat("failed: ", verdict.error.message()),
           verdict.error.step());
}

void JobRun::RunFailed(RunFault fault) {
  const bool can_edit = CanEdit();
  if (can_edit && fault.damage) {
    if (MendRun(fault)) return;
    fault.error.set_worker(fault.damage->maker);
    fault.error.set_fault_of(v1::FAULT_OF_WORKER);
    plan_run_->SectionLost(*fault.damage);
  }
  const StepInput input = InputOfStep(fault.error.step());
  BlameVerdict verdict =
      blame_.Failed(std::move(fault.error), input, RoomOfWorkers(), loop_.Now(), MovesOf(fault));
  if (!verdict.plan_again) return EndBy(std::move(verdict.error), input);
  AddLoss(verdict.error.worker(), absl::StrCat("failed: ", verdict.error.message()),
          verdict.error.step());
  if (can_edit && GoOnWithout(verdict, fault.step)) return EditPlan();
  LetGoOfFull(verdict);
  Apply(machine_.WorkerLost());
}

void JobRun::CommitFailed(v1::JobError error) {
  // It may have taken too long, which has ended the job.
  if (machine_.state() != v1::JOB_STATE_COMMITTING) return;
  if (error.fault_of() != v1::FAULT_OF_WORKER) {
    return Apply(machine_.CommitFailed(std::move(error)));
  }
  BlameVerdict verdict = blame_.Failed(std::move(error), {}, RoomOfWorkers(), loop_.Now());
  if (!verdict.plan_again) return Apply(machine_.CommitFailed(std::move(verdict.error)));
  // What the plan that was done has told of itself is not so, or is told anew.
  status_.clear_actual_makespan_s();
  status_.clear_skipped();
  AddLoss(verdict.error.worker(), absl::StrCat("failed: ", verdict.error.message()), "");
  Apply(machine_.PartRefused());
  // While the output was being published, it could end nothing.
  if (!deadline_) StartDeadlineTimer();
}

StepMoves JobRun::MovesOf(const RunFault& fault) const {
  if (!CanEdit() || fault.step == planner::kNoIndex) return StepMoves::kNever;
  return AnyBeside(planned_->plan.steps[planner::At(fault.step)].worker) ? StepMoves::kAlone
                                                                         : StepMoves::kWithPlan;
}

bool JobRun::AnyBeside(planner::WorkerIndex worker) const {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const auto index = static_cast<planner::WorkerIndex>(w);
    // One that the plan did not need was not told to prepare: no edit gives it a step.
    const bool prepared = reservation_.Holds(workers_[w]);
    if (index != worker && prepared && !plan_run_->gone(index)) return true;
  }
  return false;
}

bool JobRun::IsGone(const std::string& name) const {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const auto index = static_cast<planner::WorkerIndex>(w);
    if (NameOf(index) == name && !plan_run_->gone(index)) return false;
  }
  return true;
}

bool JobRun::MendRun(const RunFault& fault) {
  const RunFault::Damage& damage = *fault.damage;
  const RunBlame::Cure cure =
      damage.made_again
          ? RunBlame::Cure::kFetchAgain
          : run_blame_.Damaged(damage.run, damage.maker, damage.reader, damage.received);
  // One that is left out already has done no more harm: its run is made again, by somebody else.
  if (cure == RunBlame::Cure::kLeaveOutMaker && !IsGone(damage.maker)) return false;
  if (fault.step != planner::kNoIndex) plan_run_->BeginAnew(fault.step, /*elsewhere=*/false);
  if (cure == RunBlame::Cure::kFetchAgain) {
    plan_run_->SectionLost(damage);
    AddLoss(fault.error.worker(),
            absl::StrCat("gets what it had read once more: ", fault.error.message()),
            fault.error.step());
  } else {
    plan_run_->RunLost(damage);
    AddLoss(damage.maker, absl::StrCat("made a run that is made again: ", fault.error.message()),
            fault.error.step());
  }
  EditPlan();
  return true;
}

bool JobRun::GoOnWithout(const BlameVerdict& verdict, planner::StepIndex failed) {
  const std::vector<std::string> left_out = blame_.LeftOut(RoomOfWorkers());
  const std::vector<planner::WorkerIndex> draining = DrainingWorkers();
  bool changes = verdict.elsewhere || verdict.once_more;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const auto index = static_cast<planner::WorkerIndex>(w);
    const std::string& name = NameOf(index);
    // One that is about to leave anyway need not be left out.
    const bool leaves = !verdict.elsewhere && name == verdict.error.worker() &&
                        std::find(draining.begin(), draining.end(), index) != draining.end();
    const bool to_blame = std::find(left_out.begin(), left_out.end(), name) != left_out.end();
    if (plan_run_->gone(index) || (!to_blame && !leaves)) continue;
    plan_run_->WorkerLost(index);
    reservation_.LetGo(workers_[w].id);
    changes = true;
  }
  if (!changes) return false;
  // One that is gone does not end what it has under way.
  if (failed != planner::kNoIndex &&
      !plan_run_->gone(planned_->plan.steps[planner::At(failed)].worker)) {
    plan_run_->BeginAnew(failed, verdict.elsewhere);
  }
  return true;
}

}  // namespace weir::master
