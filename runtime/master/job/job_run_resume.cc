// What a job goes on with that an earlier master ran: its plan and edits are in the journal, its
// runs with its workers. And with the runs of a worker that was killed and is back. Upstream:
// JobRun::CarryOut, JobRun::TakeBackWorkers. Downstream: ResumeRun, planner/edit, ConductorRun.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/wire/plan_wire.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/job/job_run.h"
#include "runtime/master/planning/cluster_profile.h"

namespace weir::master {
namespace {

v1::KeptPlan PlanOf(const JournalledRun& run) {
  v1::KeptPlan plan;
  plan.set_master_epoch(run.master_epoch);
  plan.set_plan_epoch(run.plan_epoch);
  return plan;
}

const RegisteredWorker* Find(const std::vector<RegisteredWorker>& workers,
                             const std::string& name) {
  const auto it = std::find_if(workers.begin(), workers.end(), [&](const RegisteredWorker& worker) {
    return worker.identity.name() == name;
  });
  return it == workers.end() ? nullptr : &*it;
}

/// What the run was planned as, as far as it is known. Errors: as PlanFromProto.
absl::StatusOr<PlannedJob> PlannedBefore(const v1::Plan& message, const std::string& job,
                                         bool network_known) {
  absl::StatusOr<planner::Plan> plan = planner::PlanFromProto(message);
  if (!plan.ok()) return plan.status();
  PlannedJob before;
  before.plan = *std::move(plan);
  before.worker_names.assign(message.worker_names().begin(), message.worker_names().end());
  before.network_known = network_known;
  before.shape.job = job;
  return before;
}

/// What counted as done and does not any more.
std::vector<planner::StepIndex> NotDoneAnyMore(const JournalledRun& run, const EditedJob& edited) {
  std::vector<planner::StepIndex> steps;
  for (const auto& [step, committed] : run.committed) {
    const bool known = planner::At(step) < edited.state.steps.size();
    const bool done = known && edited.state.steps[planner::At(step)] == planner::WorkState::kDone;
    if (!done) steps.push_back(step);
  }
  return steps;
}

}  // namespace

bool JobRun::CanResume() const {
  if (!earlier_ || earlier_->input_fingerprint != input_->Fingerprint()) return false;
  const std::vector<RegisteredWorker> alive = context_.alive_workers();
  const v1::KeptPlan plan = PlanOf(*earlier_);
  std::size_t back = 0;
  bool any_holds = false;
  for (const std::string& name : earlier_->plan.worker_names()) {
    const RegisteredWorker* const worker = Find(alive, name);
    if (worker == nullptr) continue;
    ++back;
    any_holds = any_holds || HeldOf(*worker, status_.job_id(), plan) != nullptr;
  }
  // Others get nothing of a plan that does not name them.
  return any_holds && 2 * back >= alive.size();
}

/// What an earlier master left of a job, as a plan that goes on with it is made from: a copy, for
/// another thread.
struct JobRun::EarlierWork {
  std::shared_ptr<const JournalledRun> run;
  std::string job_id;
  std::string job;
  std::vector<RegisteredWorker> workers;  // by worker of its plan; those not back: names alone
  planner::PlanChange change;             // that those not back are
  double now_s = 0;                       // since the run began
  bool network_known = false;
};

JobRun::EarlierWork JobRun::TakeEarlierWork() {
  const std::vector<RegisteredWorker> alive = context_.alive_workers();
  EarlierWork work;
  std::vector<RegisteredWorker> back;
  for (const std::string& name : earlier_->plan.worker_names()) {
    if (const RegisteredWorker* const worker = Find(alive, name)) {
      work.workers.push_back(*worker);
      back.push_back(*worker);
      continue;
    }
    work.change.lost.push_back(static_cast<planner::WorkerIndex>(work.workers.size()));
    work.workers.emplace_back().identity.set_name(name);
    const bool known =
        std::any_of(status_.losses().begin(), status_.losses().end(),
                    [&](const v1::WorkerLoss& loss) { return loss.worker() == name; });
    if (!known) AddLoss(name, "did not come back after a restart of the master", "");
  }
  workers_ = work.workers;
  work.change.whole_steps = HasWholeSteps();
  const std::int64_t since_ms = context_.seams.wall_clock.UnixMillis() - earlier_->began_unix_ms;
  work.now_s = earlier_->began_unix_ms > 0 ? static_cast<double>(since_ms) / 1000 : 0;
  work.network_known = OriginOfNetwork(back, context_.options) != planner::Origin::kDefault;
  work.run = earlier_;
  work.job_id = status_.job_id();
  work.job = status_.spec().job();
  return work;
}

absl::StatusOr<JobRun::ResumedPlan> JobRun::PlanWhatIsLeft(const EarlierWork& work) {
  absl::StatusOr<PlannedJob> before = PlannedBefore(work.run->plan, work.job, work.network_known);
  if (!before.ok()) return before.status();
  if (before->plan.compute_rate.empty()) {
    // It was not edited yet: messages of such plans do not tell them.
    before->plan.compute_rate = ComputeRatesOfThoseBack(work.workers);
  }
  ResumedPlan resumed;
  resumed.kept = PlanOf(*work.run);
  std::vector<const v1::HeldJob*> held;
  for (const RegisteredWorker& worker : work.workers) {
    held.push_back(HeldOf(worker, work.job_id, resumed.kept));
  }
  ResumedRun run = ResumeRun(before->plan, *work.run, held, work.now_s);
  resumed.note = absl::StrCat("Gone on with after a restart of the master, with ", run.runs_kept,
                              " runs that its workers kept.");
  absl::StatusOr<EditedJob> edited = EditPlannedJob(*before, run.state, work.change, resumed.note);
  if (!edited.ok()) return edited.status();
  resumed.edited = *std::move(edited);
  resumed.steps = std::move(run.steps);
  resumed.redone = NotDoneAnyMore(*work.run, resumed.edited);
  return resumed;
}

void JobRun::ResumePlan() {
  if (!machine_.can_end()) return;
  if (!CanResume()) {
    earlier_.reset();
    return PlanForThoseAlive();
  }
  workers_awaited_ = false;
  EarlierWork work = TakeEarlierWork();
  plan_in_the_making_ = true;
  env::Offload(
      loop_, context_.seams.compute_pool, [work = std::move(work)] { return PlanWhatIsLeft(work); },
      callbacks_.Guard([this, epoch = plan_epoch_](absl::StatusOr<ResumedPlan> resumed) {
        if (PlanIsOfNow()) PlanResumed(epoch, std::move(resumed));
      }));
}

void JobRun::PlanResumed(std::int64_t plan_epoch, absl::StatusOr<ResumedPlan> resumed) {
  if (!machine_.can_end() || plan_epoch != plan_epoch_) return;
  if (!resumed.ok()) {
    LogWarning("A plan of an earlier master cannot be gone on with; the job is planned anew",
               {{"job", status_.job_id()}, {"why", resumed.status().message()}});
    earlier_.reset();
    return PlanForThoseAlive();
  }
  resumed_ = *std::move(resumed);
  planned_ = resumed_->edited.planned;
  LogInfo("A job goes on where an earlier master left it",
          {{"job", status_.job_id()},
           {"steps_redone", resumed_->redone.size()},
           {"predicted_s", planned_->prediction.makespan_s},
           {"note", resumed_->note}});
  Apply(machine_.Planned());
}

void JobRun::ResumeFailed(const v1::JobError& error) {
  LogWarning("Workers cannot go on with what they kept; the job is planned anew",
             {{"job", status_.job_id()}, {"why", error.message()}});
  earlier_.reset();
  Apply(machine_.WorkerLost());
}

v1::KeptPlan JobRun::PlanNow() const {
  v1::KeptPlan plan;
  plan.set_master_epoch(context_.master_epoch);
  plan.set_plan_epoch(plan_epoch_);
  return plan;
}

void JobRun::EditForLoss(planner::WorkerIndex worker, Loss loss) {
  if (loss != Loss::kMayBeBack || editing_ || !CanEdit()) return EditPlan();
  const ReturnWait chosen =
      context_.return_times.WorthWaiting(plan_run_->RedoTime(worker), loop_.Now());
  if (chosen.without > absl::ZeroDuration()) {
    waits_chosen_.push_back(chosen.Words(NameOf(worker)));
  }
  if (chosen.wait == absl::ZeroDuration()) return EditPlan();
  loop_.RunAt(loop_.Now() + std::min(chosen.wait, limits::kRestartGrace),
              callbacks_.Guard([this, worker, plan_epoch = plan_epoch_] {
                const bool runs = plan_run_ && machine_.state() == v1::JOB_STATE_RUNNING;
                if (!runs || plan_epoch != plan_epoch_ || editing_) return;
                if (plan_run_->lost_since_edit(worker)) EditPlan();
              }));
}

bool JobRun::IsRestarted(planner::WorkerIndex worker) const {
  // An edit that was taken has had its work begun anew. One that was not needed has no work.
  return plan_run_->lost_since_edit(worker) && LossPending(NameOf(worker)) && CanEdit() &&
         HeldOf(workers_[planner::At(worker)], status_.job_id(), PlanNow()) != nullptr;
}

void JobRun::AwaitRestarted(bool first) {
  EditPlan();
  if (!first) return;
  loop_.RunAt(loop_.Now() + limits::kRestartWait,
              callbacks_.Guard([this, wait = ++restarts_awaited_] {
                if (wait == restarts_awaited_) GiveUpRestarted();
              }));
}

void JobRun::GiveUpRestarted() {
  const bool awaited = !std::exchange(restarted_, {}).empty();
  if (awaited && plan_run_ && machine_.state() == v1::JOB_STATE_RUNNING) EditPlan();
}

void JobRun::UseRestarted(planner::WorkerIndex worker) {
  const RegisteredWorker& back = workers_[planner::At(worker)];
  const int runs = plan_run_->WorkerRestarted(worker, HeldOf(back, status_.job_id(), PlanNow()));
  const std::string& name = NameOf(worker);
  restarts_used_.push_back(absl::StrCat(name, " is back with ", runs, " of its runs"));
  for (v1::WorkerLoss& loss : *status_.mutable_losses()) {
    if (loss.plan_epoch() == 0 && loss.worker() == name) loss.set_runs_kept(runs);
  }
  LogInfo("A worker is back before its work was given to others",
          {{"job", status_.job_id()}, {"worker", name}, {"runs_kept", runs}});
}

}  // namespace weir::master
