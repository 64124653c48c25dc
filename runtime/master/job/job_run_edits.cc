// What a job does when its plan runs and a worker is lost: the plan is edited, and what is done
// stays done. Upstream: JobRun::WorkerLost. Downstream: ConductorRun, planner/edit.

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/conduct/progress.h"
#include "runtime/master/job/job_run.h"
#include "runtime/master/newcomers/added_workers.h"
#include "runtime/modules/job_description.h"

namespace weir::master {

planner::PlanState JobRun::WithUnprepared(planner::PlanState state) const {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (!reservation_.Holds(workers_[w])) state.gone[w] = true;
  }
  return state;
}

bool JobRun::CanEdit() const {
  return plan_run_ && !given_plan_ && machine_.state() == v1::JOB_STATE_RUNNING &&
         CanBeEdited(*planned_);
}

void JobRun::EditPlan(std::optional<StragglerDecision> stragglers) {
  if (writing_edit_) {
    edit_again_ = true;
    return;
  }
  // An edit that is under way was made for the state before this loss; the run is held, so that
  // another one may begin from where that did.
  ++edits_;
  editing_ = true;
  planner::PlanState state = WithUnprepared(plan_run_->BeginEdit());
  if (!restarted_.empty()) return;
  if (edit_in_the_making_) {
    edit_waiting_ = edits_;
    return;
  }
  edit_in_the_making_ = true;
  planner::PlanChange change = plan_run_->ChangeSinceEdit();
  change.whole_steps = HasWholeSteps();
  change.closed = DrainingWorkers();
  change.closed_stay_s = StayOf(change.closed);
  std::vector<std::string> reasons;
  if (!status_.losses().empty()) reasons.push_back(LossesInWords());
  for (const planner::WorkerIndex closed : change.closed) {
    reasons.push_back(absl::StrCat("worker ", NameOf(closed), " is about to leave"));
  }
  for (const planner::PlanChange::Joined& joined : change.joined) {
    reasons.push_back(absl::StrCat(NameOf(joined.worker), " is back"));
  }
  AddNewcomers(change, reasons);
  reasons.insert(reasons.end(), waits_chosen_.begin(), waits_chosen_.end());
  reasons.insert(reasons.end(), restarts_used_.begin(), restarts_used_.end());
  if (stragglers) {
    reasons.push_back(stragglers->why);
    change.rate_factor = stragglers->change.rate_factor;
    change.port_factor = stragglers->change.port_factor;
    // The pace of all stays as planned: what is late is overtaken, and a plan that takes everything
    // to be slow would have it waited for.
  }
  std::string note = absl::StrCat("Edited while it ran: ", absl::StrJoin(reasons, "; "), ".");
  env::Offload(
      loop_, context_.seams.compute_pool,
      [planned = planned_, state = std::move(state), change, note = std::move(note)] {
        return EditPlannedJob(*planned, state, change, note);
      },
      callbacks_.Guard([this, edit = edits_, change](absl::StatusOr<EditedJob> edited) {
        edit_in_the_making_ = false;
        PlanEdited(edit, change, std::move(edited));
      }));
}

bool JobRun::HasWholeSteps() const {
  const auto job = FindJob(context_.seams.catalog, status_.spec());
  return job != nullptr && !job->info().pairs_follow_from_record;
}

void JobRun::PlanEdited(std::int64_t edit, const planner::PlanChange& change,
                        absl::StatusOr<EditedJob> edited) {
  if (machine_.state() != v1::JOB_STATE_RUNNING) return;
  if (edit != edits_) {
    if (edit_waiting_ == edits_) EditPlan();
    return;
  }
  const bool lost = LossPending();
  // Slow workers and ones that are back are no reason to do everything again.
  const bool others = !change.lost.empty() || !change.joined.empty();
  const bool changes = edited.ok() && (lost || others || edited->moves);
  if (!edited.ok() && !change.added.names.empty()) {
    LogWarning("A plan cannot be edited for new workers",
               {{"job", status_.job_id()}, {"why", edited.status().message()}});
    newcomers_.RefuseAll();
    return EditPlan();
  }
  editing_ = changes;
  if (!edited.ok() && !lost) {
    editable_ = editable_ && !absl::IsFailedPrecondition(edited.status());
    LogWarning("A plan cannot be edited for slow workers",
               {{"job", status_.job_id()}, {"why", edited.status().message()}});
    joined_.clear();
    return GoOnUnedited();
  }
  if (edited.ok() && !changes) return GoOnUnedited();
  if (!edited.ok()) {
    editing_ = false;
    LogWarning("A plan cannot be edited; the job is planned again",
               {{"job", status_.job_id()}, {"why", edited.status().message()}});
    return Apply(machine_.WorkerLost());
  }
  auto taken = std::make_shared<const EditedJob>(*std::move(edited));
  plan_run_->EndDropped(*taken, [this, edit, change, taken, lost](const absl::Status& ended) {
    if (edit != edits_ || machine_.state() != v1::JOB_STATE_RUNNING) return;
    if (ended.ok()) return WriteEdit(taken, change);
    LogWarning("An edit is not taken: a worker does not let go of what it fetches",
               {{"job", status_.job_id()}, {"why", ended.message()}});
    // Without those who are slow, only what leaves one that drains, or is of a run that is made
    // again, is dropped between workers that are there; how often, EndDropped bounds.
    if (lost || !change.lost.empty() || !change.joined.empty()) {
      EditAgainSoon(edit);
    } else {
      GoOnUnedited();
    }
  });
}

void JobRun::EditAgainSoon(std::int64_t edit) {
  loop_.RunAt(loop_.Now() + limits::kPeerPause, callbacks_.Guard([this, edit] {
    if (edit == edits_ && machine_.state() == v1::JOB_STATE_RUNNING) EditPlan();
  }));
}

void JobRun::WriteEdit(const std::shared_ptr<const EditedJob>& edited,
                       const planner::PlanChange& change) {
  v1::JournalRecord record = PlannedRecord(*edited->planned);
  v1::JournalRecord::JobPlanned& planned = *record.mutable_job_planned();
  MarkLosses(*edited, *planned.mutable_losses());
  planned.set_plan_edit(plan_run_->num_edits() + 1);
  for (const planner::StepIndex step : edited->redone) planned.add_steps_redone(step);
  // Runs of theirs that nobody has heard of are no runs of the steps as they are from now on.
  for (const planner::StepIndex step : plan_run_->attempts_over()) planned.add_steps_redone(step);
  writing_edit_ = true;
  WaitForJournal(std::move(record), [this, change, edited](const absl::Status& written) {
    writing_edit_ = false;
    if (!written.ok()) return JournalFailed(written);
    if (machine_.state() != v1::JOB_STATE_RUNNING) return;
    // Nothing was ordered by it yet.
    const bool again = std::exchange(edit_again_, false);
    if (again || !TakeNewcomers(change)) return EditPlan();
    editing_ = false;
    restarts_used_.clear();
    waits_chosen_.clear();
    planned_ = edited->planned;
    MarkLosses(*edited, *status_.mutable_losses());
    TellEdit(*edited);
    plan_run_->GoOn(*edited, change);
    // Who is new may be about to leave by now.
    if (!change.added.names.empty()) EditForThoseWhoLeave();
    UseJoined();
  });
}

void JobRun::GoOnUnedited() {
  editing_ = false;
  plan_run_->GoOnUnedited();
  UseJoined();
}

void JobRun::MarkLosses(const EditedJob& edited,
                        google::protobuf::RepeatedPtrField<v1::WorkerLoss>& losses) const {
  // What an earlier master ran has no run of this one yet.
  const std::size_t over = plan_run_ ? plan_run_->attempts_over().size() : 0;
  for (v1::WorkerLoss& loss : losses) {
    if (loss.plan_epoch() != 0) continue;
    loss.set_plan_epoch(plan_epoch_);
    loss.set_edit(edited.why);
    loss.set_steps_redone(static_cast<std::int64_t>(edited.steps_done_again() + over));
    loss.set_bytes_moved_again(edited.moved_again);
  }
}

void JobRun::LookForStragglers() {
  loop_.RunAt(loop_.Now() + limits::kHeartbeat, callbacks_.Guard([this, plan_epoch = plan_epoch_] {
    if (machine_.state() != v1::JOB_STATE_RUNNING || plan_epoch != plan_epoch_ || !editable_)
      return;
    LookForStragglers();
    ReleaseDrained();
    LookForNewcomers();
    // While an edit waits for one that is lost, what it was to send stands still.
    if (LossPending()) return;
    std::optional<StragglerDecision> found = plan_run_->FindStragglers();
    if (found) {
      LogWarning("A worker is slower than planned",
                 {{"job", status_.job_id()}, {"why", found->why}});
      EditPlan(std::move(found));
    }
  }));
}

void JobRun::TakeBackWorkers() {
  // A plan that was given is run as it is.
  if (!plan_run_ || given_plan_) return;
  const std::size_t awaited = restarted_.size();
  bool any = false;
  for (const RegisteredWorker& worker : context_.alive_workers()) {
    const auto it = std::find_if(workers_.begin(), workers_.end(), [&](const RegisteredWorker& w) {
      return w.identity.name() == worker.identity.name();
    });
    const auto index = static_cast<planner::WorkerIndex>(it - workers_.begin());
    if (it == workers_.end() || it->epoch == worker.epoch || !plan_run_->gone(index)) continue;
    if (const absl::Duration pause = PauseBefore(index); pause > absl::ZeroDuration()) {
      loop_.RunAt(loop_.Now() + pause, callbacks_.Guard([this, plan_epoch = plan_epoch_] {
        if (plan_epoch == plan_epoch_) WorkerJoined();
      }));
      continue;
    }
    *it = worker;
    joining_.insert(index);
    if (IsRestarted(index)) restarted_.insert(index);
    any = true;
  }
  if (!any) return;
  if (restarted_.size() > awaited) AwaitRestarted(/*first=*/awaited == 0);
  PrepareJoining();
}

void JobRun::PrepareJoining() {
  if (!plan_run_ || machine_.state() != v1::JOB_STATE_RUNNING) return;
  v1::PrepareJobRequest request = PrepareRequest();
  if (!restarted_.empty()) *request.mutable_kept() = PlanNow();
  // Those that were asked before and have not answered are asked with them: one answer for all.
  std::vector<RegisteredWorker> asked = newcomers_.Of(Newcomers::Stage::kPreparing);
  for (const planner::WorkerIndex index : joining_) asked.push_back(workers_[planner::At(index)]);
  if (asked.empty()) return;
  reservation_.Prepare(
      std::move(asked), std::move(request),
      [this] {
        joined_.merge(joining_);
        joining_.clear();
        newcomers_prepared_ = newcomers_.Prepared() || newcomers_prepared_;
        UseJoined();
      },
      [this](const v1::JobError& error) {
        // The job does without; when it is lost its lease says so.
        LogWarning("A worker that joins cannot be prepared",
                   {{"job", status_.job_id()}, {"error", error.message()}});
        DoWithout(error.worker());
      });
}

void JobRun::DoWithout(const std::string& name) {
  const auto it = std::find_if(workers_.begin(), workers_.end(), [&](const RegisteredWorker& w) {
    return w.identity.name() == name;
  });
  if (!newcomers_.Refuse(name) && it != workers_.end()) {
    const auto index = static_cast<planner::WorkerIndex>(it - workers_.begin());
    joining_.erase(index);
    const bool was_last = restarted_.erase(index) > 0 && restarted_.empty();
    if (was_last && plan_run_ && machine_.state() == v1::JOB_STATE_RUNNING) EditPlan();
  }
  PrepareOthersSoon();
}

void JobRun::PrepareOthersSoon() {
  loop_.Post(callbacks_.Guard([this] { PrepareJoining(); }));
}

void JobRun::UseJoined() {
  if (!plan_run_ || machine_.state() != v1::JOB_STATE_RUNNING) return;
  // What is being edited is edited again afterwards, unless it waits for them.
  const absl::btree_set<planner::WorkerIndex> restarted = std::exchange(restarted_, {});
  if (restarted.empty()) {
    if (editing_ || (joined_.empty() && !newcomers_prepared_)) return;
  }
  for (const planner::WorkerIndex index : std::exchange(joined_, {})) {
    if (!reservation_.Holds(workers_[planner::At(index)])) continue;
    if (restarted.contains(index)) {
      UseRestarted(index);
    } else if (plan_run_->lost_since_edit(index)) {
      // The plan hears of its loss first: its runs of before are gone, or nobody needed them.
      joined_.insert(index);
    } else {
      plan_run_->WorkerBack(index);
    }
  }
  EditPlan();
}

std::vector<RegisteredWorker> JobRun::NotOfThePlan() const {
  std::vector<RegisteredWorker> others = context_.alive_workers();
  absl::btree_set<std::string> names;
  for (const RegisteredWorker& worker : workers_) names.insert(worker.identity.name());
  std::erase_if(others, [&names](const RegisteredWorker& worker) {
    return names.contains(worker.identity.name());
  });
  if (others.empty()) return others;
  for (const std::string& left_out : blame_.LeftOut(RoomOfWorkers())) {
    std::erase_if(others, [&left_out](const RegisteredWorker& worker) {
      return worker.identity.name() == left_out;
    });
  }
  return others;
}

std::size_t JobRun::RoomForNames() const {
  return kPlanNamesMax - std::min(workers_.size(), kPlanNamesMax);
}

void JobRun::LookForNewcomers() {
  const std::vector<RegisteredWorker> others = NotOfThePlan();
  for (const RegisteredWorker& leaves :
       newcomers_.Look(others, plan_run_->num_edits(), RoomForNames())) {
    reservation_.LetGo(leaves.id);
  }
  if (editing_ || !joining_.empty() || newcomers_.Of(Newcomers::Stage::kSeen).empty()) return;
  // An edit waits for one that may be back: until then nobody knows what there is to do.
  if (LossPending()) return;
  // Jobs that run beside each other were each planned for the same workers.
  if (!context_.jobs_beside(status_.job_id()).empty() || !CanEdit()) return;
  std::vector<RegisteredWorker> asked = newcomers_.TakeQuestion(loop_.Now());
  if (asked.empty()) return;
  planner::PlanState state = WithUnprepared(plan_run_->StateNow());
  absl::StatusOr<planner::PlanChange::Added> added = Describe(std::move(asked));
  if (!added.ok()) return newcomers_.Answered(false);
  planner::PlanChange change{
      .closed = DrainingWorkers(), .added = *std::move(added), .whole_steps = HasWholeSteps()};
  env::Offload(
      loop_, context_.seams.compute_pool,
      [planned = planned_, state = std::move(state), change = std::move(change)] {
        return AddedGetWork(*planned, state, change);
      },
      callbacks_.Guard(
          [this, edit = edits_, plan_epoch = plan_epoch_](const absl::StatusOr<bool>& get_work) {
            if (plan_epoch == plan_epoch_) NewcomersAnswered(edit, get_work);
          }));
}

void JobRun::NewcomersAnswered(std::int64_t edit, const absl::StatusOr<bool>& get_work) {
  if (!get_work.ok()) {
    LogWarning("Workers that joined cannot be used by a job that runs",
               {{"job", status_.job_id()}, {"why", get_work.status().message()}});
    newcomers_.RefuseAll();
  }
  // What was edited meanwhile is another plan.
  newcomers_.Answered(get_work.ok() && *get_work && edit == edits_);
  if (!newcomers_.Of(Newcomers::Stage::kPreparing).empty()) PrepareJoining();
}

absl::StatusOr<planner::PlanChange::Added> JobRun::Describe(std::vector<RegisteredWorker> asked) {
  std::erase_if(asked, [this](const RegisteredWorker& worker) {
    const absl::Status fits =
        DescribeAdded(*planned_, workers_, {&worker, 1}, context_.options, context_.history)
            .status();
    if (fits.ok()) return false;
    LogWarning(
        "A worker that joined cannot be used by a job that runs",
        {{"job", status_.job_id()}, {"worker", worker.identity.name()}, {"why", fits.message()}});
    newcomers_.Refuse(worker.identity.name());
    return true;
  });
  if (asked.empty()) return absl::NotFoundError("nobody is left");
  return DescribeAdded(*planned_, workers_, asked, context_.options, context_.history);
}

void JobRun::AddNewcomers(planner::PlanChange& change, std::vector<std::string>& reasons) {
  newcomers_prepared_ = false;
  const std::vector<RegisteredWorker> prepared = newcomers_.Of(Newcomers::Stage::kPrepared);
  if (prepared.empty()) return;
  absl::StatusOr<planner::PlanChange::Added> added = Describe(prepared);
  if (!added.ok()) return;
  change.added = *std::move(added);
  reasons.push_back(absl::StrCat(absl::StrJoin(change.added.names, ", "), " joined"));
}

bool JobRun::TakeNewcomers(const planner::PlanChange& change) {
  const std::optional<std::vector<RegisteredWorker>> taken = newcomers_.Take(change.added.names);
  if (!taken) return false;
  workers_.insert(workers_.end(), taken->begin(), taken->end());
  if (!taken->empty() && RoomForNames() == 0) {
    LogWarning("A plan names as many workers as it may; the job takes no more new ones",
               {{"job", status_.job_id()}, {"names", workers_.size()}});
  }
  return true;
}

void JobRun::NewcomerLost(WorkerId worker, Epoch epoch) {
  const std::optional<Newcomers::Stage> was = newcomers_.Lost(worker, epoch);
  if (!was || reservation_.WorkerLost(worker) || !machine_.can_end()) return;
  // Those that are prepared with it wait for it no longer.
  if (was == Newcomers::Stage::kPreparing) return PrepareJoining();
  // The plan that is being made may count on it.
  if (was == Newcomers::Stage::kPrepared && editing_) EditPlan();
}

void JobRun::TellEdit(const EditedJob& edited) {
  LogInfo("A plan was edited", {{"job", status_.job_id()},
                                {"steps_redone", edited.steps_done_again()},
                                {"bytes_moved_again", edited.moved_again},
                                {"predicted_s", planned_->prediction.makespan_s},
                                {"why", edited.why}});
  TakePlannedStatus();
  status_.set_sequence(context_.publish(status_));
}

}  // namespace weir::master
