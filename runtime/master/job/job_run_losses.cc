// What a job does when workers are lost, and when they come back. Upstream: Master (leases and
// registrations), JobRun::CarryOut. Downstream: JobMachine, Planning.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/standstill.h"
#include "runtime/master/job/job_run.h"
#include "runtime/master/planning/cluster_profile.h"
#include "runtime/master/planning/given_plan.h"
#include "runtime/master/resume/told_losses.h"
#include "runtime/master/workers/worker_leases.h"

namespace weir::master {
bool JobRun::UsesWorker(std::size_t index) const {
  const planner::Plan& plan = planned_->plan;
  return !plan.compute_order[index].empty() || !plan.send_order[index].empty() ||
         !plan.receive_order[index].empty();
}

bool JobRun::StillNeeds(std::size_t index) const {
  if (machine_.state() != v1::JOB_STATE_RUNNING) return true;
  return plan_run_ ? plan_run_->Needs(static_cast<planner::WorkerIndex>(index)) : UsesWorker(index);
}

void JobRun::WorkerLost(WorkerId worker, Epoch epoch, const std::string& why, Loss loss) {
  if (SampleRun* sampling = sample()) sampling->WorkerLost(worker, epoch, why);
  const auto it = std::find_if(workers_.begin(), workers_.end(), [&](const RegisteredWorker& w) {
    return w.id == worker && w.epoch == epoch;
  });
  if (it == workers_.end()) return NewcomerLost(worker, epoch);
  const std::string& name = it->identity.name();
  const auto index = it - workers_.begin();
  restarted_.erase(static_cast<planner::WorkerIndex>(index));
  joined_.erase(static_cast<planner::WorkerIndex>(index));
  if (joining_.erase(static_cast<planner::WorkerIndex>(index)) > 0) PrepareOthersSoon();
  if (plan_run_) {
    plan_run_->WorkerLost(static_cast<planner::WorkerIndex>(index));
    return_pauses_.Lost(name, loop_.Now());
  }
  if (reservation_.WorkerLost(worker) || !machine_.can_end()) return;
  if (!StillNeeds(static_cast<std::size_t>(index))) {
    LogWarning("A worker was lost that the job needs no more",
               {{"job", status_.job_id()}, {"worker", name}, {"why", why}});
    // The plan that is being made of this one may count on it.
    if (editing_) EditPlan();
    return;
  }
  const std::string step = plan_run_ ? plan_run_->StepOn(worker) : "";
  // A plan that was given is run as it is.
  if (!plan_run_ || given_plan_ || machine_.state() != v1::JOB_STATE_RUNNING) {
    return TakeLoss(name, why, step);
  }
  AddLoss(name, why, step);
  EditForLoss(static_cast<planner::WorkerIndex>(index), loss);
}

void JobRun::AddLoss(const std::string& worker, const std::string& why, const std::string& step) {
  v1::WorkerLoss& loss = *status_.add_losses();
  loss.set_worker(worker);
  loss.set_why(why);
  loss.set_step(step);
  loss.set_unix_ms(context_.seams.wall_clock.UnixMillis());
  SumUpOldLosses(*status_.mutable_losses());
  LogWarning("A job lost a worker", {{"job", status_.job_id()},
                                     {"worker", worker},
                                     {"step", step},
                                     {"plan_epoch", plan_epoch_},
                                     {"why", why}});
}

bool JobRun::LossPending(const std::string& worker) const {
  return std::any_of(status_.losses().begin(), status_.losses().end(),
                     [&worker](const v1::WorkerLoss& loss) {
                       return loss.plan_epoch() == 0 && (worker.empty() || worker == loss.worker());
                     });
}

void JobRun::TakeLoss(const std::string& worker, const std::string& why, const std::string& step) {
  AddLoss(worker, why, step);
  Apply(machine_.WorkerLost());
}

void JobRun::PlanOnce() {
  if (!actions_.empty() && actions_.front() == JobAction::kPlan) return;
  if (plan_in_the_making_) {
    plan_again_ = true;
  } else {
    MakePlan();
  }
}

bool JobRun::PlanIsOfNow() {
  plan_in_the_making_ = false;
  if (!std::exchange(plan_again_, false)) return true;
  if (machine_.can_end()) Apply({JobAction::kPlan});
  return false;
}

void JobRun::WorkerJoined() {
  if (machine_.state() == v1::JOB_STATE_RUNNING) return TakeBackWorkers();
  if (!workers_awaited_) return;
  // A given plan names whom it waits for. Others come back together, or nearly.
  const absl::Duration pause = given_plan_ ? absl::ZeroDuration() : limits::kWorkersReturn;
  loop_.RunAt(loop_.Now() + pause, callbacks_.Guard([this, plan_epoch = plan_epoch_] {
    if (workers_awaited_ && plan_epoch == plan_epoch_) PlanForThoseAlive();
  }));
}

absl::Duration JobRun::PauseBefore(planner::WorkerIndex worker) const {
  return AnyBeside(worker) ? return_pauses_.Left(NameOf(worker), loop_.Now())
                           : absl::ZeroDuration();
}

absl::Status JobRun::ChooseWorkers() {
  const std::vector<std::string> left_out = blame_.LeftOut(RoomOfWorkers());
  workers_ = context_.alive_workers();
  std::erase_if(workers_, [&](const RegisteredWorker& worker) {
    return std::find(left_out.begin(), left_out.end(), worker.identity.name()) != left_out.end();
  });
  if (workers_.empty() && !left_out.empty()) {
    return StatusFromJobError(absl::StatusCode::kResourceExhausted, blame_.NoRoom({}));
  }
  if (given_plan_) {
    auto workers = WorkersOfPlan(*given_plan_, workers_);
    workers_.clear();
    if (!workers.ok()) return workers.status();
    workers_ = *std::move(workers);
  }
  if (!workers_.empty()) return absl::OkStatus();
  return StatusFromJobError(absl::StatusCode::kFailedPrecondition,
                            MakeJobError(job_error::kNoWorkers, "no worker is alive",
                                         "start workers with: weir worker --master HOST:PORT"));
}

void JobRun::AwaitWorkers(const absl::Status& missing) {
  const absl::Duration grace = context_.options.worker_grace;
  // Who names workers that never were there has misspelt them.
  const bool worth_it = !given_plan_ || !status_.losses().empty();
  if (!worth_it || loop_.Now() >= workers_until_) {
    v1::JobError error = JobErrorFromStatus(missing);
    if (!status_.losses().empty()) {
      if (given_plan_) error.set_code(std::string(job_error::kWorkerLost));
      error.set_message(absl::StrCat(LossesInWords(), "; ", error.message(), " after ",
                                     absl::FormatDuration(grace)));
      error.set_worker(status_.losses().rbegin()->worker());
      error.set_step(status_.losses().rbegin()->step());
    }
    return Fail(std::move(error));
  }
  if (std::exchange(workers_awaited_, true)) return;
  LogWarning("A job waits for workers", {{"job", status_.job_id()},
                                         {"why", missing.message()},
                                         {"at_most", absl::FormatDuration(grace)}});
  AwaitGraceEnd();
}

// A master that stands still hears nobody who comes: what it missed is heard first, and they have
// as long as ever to come.
void JobRun::AwaitGraceEnd() {
  loop_.RunAt(workers_until_,
              callbacks_.Guard([this, due = workers_until_, plan_epoch = plan_epoch_] {
                if (!workers_awaited_ || plan_epoch != plan_epoch_) return;
                if (loop_.Now() - due < kStandstill) return PlanForThoseAlive();
                workers_until_ = loop_.Now() + context_.options.worker_grace;
                AwaitGraceEnd();
              }));
}

void JobRun::PlanForThoseAlive() {
  // It may end while it waits.
  if (!machine_.can_end()) return;
  if (absl::Status chosen = ChooseWorkers(); !chosen.ok()) return AwaitWorkers(chosen);
  workers_awaited_ = false;
  if (given_plan_) return PlanGivenPlan();
  planning_.ShareWith(context_.jobs_beside(status_.job_id()));
  plan_in_the_making_ = true;
  planning_.Plan(input_->input(), workers_, LossNote(),
                 [this, epoch = plan_epoch_](absl::StatusOr<PlannedJob> planned) {
                   if (PlanIsOfNow()) PlanMade(epoch, std::move(planned));
                 });
}

void JobRun::PlanGivenPlan() {
  absl::Status fits = CheckGivenPlanInput(*given_plan_, input_->input().total_bytes);
  if (!fits.ok()) return FailFrom(fits);
  const bool known = OriginOfNetwork(workers_, context_.options) != planner::Origin::kDefault;
  TakePlan([plan = given_plan_, job = status_.spec().job(), note = LossNote(),
            known]() -> absl::StatusOr<PlannedJob> {
    absl::StatusOr<PlannedJob> adopted = AdoptGivenPlan(*plan, job, note);
    if (adopted.ok()) adopted->network_known = known;
    return adopted;
  });
}

std::string JobRun::LossNote() const {
  if (status_.losses().empty()) return "";
  return absl::StrCat("Planned again (epoch ", plan_epoch_, "): ", LossesInWords(), ".");
}

std::string JobRun::LossesInWords() const {
  constexpr int kNamedMax = 8;
  const auto& losses = status_.losses();
  std::vector<std::string> words;
  for (int i = std::max(0, losses.size() - kNamedMax); i < losses.size(); ++i) {
    const v1::WorkerLoss& loss = losses[i];
    words.push_back(
        absl::StrCat("worker ", loss.worker(), " ", loss.why(),
                     loss.step().empty() ? "" : absl::StrCat(" (in ", loss.step(), ")")));
  }
  if (losses.size() > kNamedMax) {
    const bool all_told = !IsSumOfLosses(losses[0]);
    words.insert(words.begin(), all_told ? absl::StrCat(losses.size() - kNamedMax, " others before")
                                         : "many others before");
  }
  return absl::StrJoin(words, "; ");
}

}  // namespace weir::master
