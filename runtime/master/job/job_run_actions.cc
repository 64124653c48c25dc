// What a job does in each of its states: plan, stage, prepare, conduct, commit, release, discard.
// Upstream: JobRun::CarryOut (job_run.cc). Downstream: pools, ConductorRun, calls to workers.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/standstill.h"
#include "runtime/master/job/job_run.h"
#include "runtime/master/job/submission.h"

namespace weir::master {
namespace {

// A lost worker is noticed after a lease of 6 s; ending must be over within 10 s of the loss.
constexpr absl::Duration kReleaseBudget = absl::Milliseconds(2800);
constexpr absl::Duration kDiscardBudget = absl::Milliseconds(1000);
// Listing a million files or publishing thousands of parts on a slow file system takes minutes.
constexpr absl::Duration kStorageTimeout = absl::Minutes(10);

}  // namespace

void JobRun::ListInput() {
  // It did not have to wait: what was listed for its submission still holds.
  if (input_) return TakeInput();
  auto work = [&storage = context_.seams.storage, spec = status_.spec()](PathLookedAt& path) {
    return ListInputs(storage, spec, SubmissionKind::kRun, path);
  };
  context_.lister.List({kStorageTimeout, kStorageTimeout}, std::move(work),
                       callbacks_.Guard([this](absl::StatusOr<InputList> input) {
                         if (!input.ok()) return FailFrom(input.status());
                         if (!machine_.can_end()) return;
                         input_.emplace(*std::move(input));
                         TakeInput();
                       }));
}

void JobRun::TakeInput() {
  WatchStorage(v1::JOB_STATE_PLANNING, "planning and staging");
  Apply(machine_.Listed());
}

void JobRun::Sample() {
  const std::vector<RegisteredWorker> workers = context_.alive_workers();
  if (!CanResume()) earlier_.reset();
  // One that is gone on with has its plan.
  if (given_plan_ || earlier_) return Apply(machine_.Sampled());
  if (workers.empty()) return Apply(machine_.Sampled());  // MakePlan says what that means
  planning_.Sample(input_->input(), workers, context_.busy_beside(status_.job_id()),
                   [this] { Apply(machine_.Sampled()); });
}

void JobRun::MakePlan() {
  ++plan_epoch_;
  ++edits_;  // one that is under way was of the plan before
  editing_ = false;
  joining_.clear();
  joined_.clear();
  newcomers_ = {};
  newcomers_prepared_ = false;
  restarted_.clear();
  restarts_used_.clear();
  edit_again_ = false;
  // What runs an earlier plan knows it, and its workers, by reference.
  plan_run_.reset();
  resumed_.reset();
  reservation_.WithdrawPreparation();
  if (plan_epoch_ > limits::kPlansMax) {
    return Fail(
        MakeJobError(job_error::kWorkerLost,
                     absl::StrCat("the job was planned ", limits::kPlansMax,
                                  " times, and each time workers were lost: ", LossesInWords()),
                     "find out why workers are lost, then run the job again"));
  }
  workers_until_ = loop_.Now() + context_.options.worker_grace;
  if (earlier_) return ResumePlan();
  PlanForThoseAlive();
}

void JobRun::TakePlan(absl::AnyInvocable<absl::StatusOr<PlannedJob>()> planned) {
  env::Offload(loop_, context_.seams.compute_pool, std::move(planned),
               callbacks_.Guard([this, epoch = plan_epoch_](absl::StatusOr<PlannedJob> made) {
                 PlanMade(epoch, std::move(made));
               }));
}

void JobRun::PlanMade(std::int64_t plan_epoch, absl::StatusOr<PlannedJob> planned) {
  if (!machine_.can_end() || plan_epoch != plan_epoch_) return;
  if (!planned.ok()) return PlanFailed(JobErrorFromStatus(planned.status()));
  planned_ = std::make_shared<const PlannedJob>(*std::move(planned));
  Apply(machine_.Planned());
}

bool JobRun::WithdrawStorage() {
  if (!storage_busy_ || storage_begun_ || !storage_turn_->Withdraw()) return false;
  storage_busy_ = false;
  return true;
}

void JobRun::WatchStorage(v1::JobState during, const std::string& what) {
  watched_storage_ = {.during = during, .what = what};
  AwaitStorage(loop_.Now() + kStorageTimeout);
}

void JobRun::AwaitStorage(MonoTime until) {
  CancelTimer(storage_watch_);
  watched_storage_.until = until;
  storage_watch_ = loop_.RunAt(until, callbacks_.Guard([this, until] {
    storage_watch_.reset();
    // Nobody may have noted that the master stood still, and what was done is not heard yet.
    const MonoTime now = loop_.Now();
    if (now - until >= kStandstill) return AwaitStorage(now + kStorageTimeout);
    StorageIsLate();
  }));
}

void JobRun::StoodStill(absl::Duration stood, MonoTime now) {
  if (plan_run_) plan_run_->StoodStill(stood, now);
  if (storage_watch_) AwaitStorage(watched_storage_.until + stood);
}

void JobRun::StorageIsLate() {
  const auto& [during, what, until] = watched_storage_;
  if (machine_.state() != during) return;
  // It may be planned again, long after, or wait for workers.
  if (during == v1::JOB_STATE_PLANNING && (machine_.staged() || workers_awaited_)) return;
  const bool waited = storage_busy_ && !storage_begun_;
  // It has begun this very moment, and is watched anew.
  if (waited && !WithdrawStorage()) return;
  const std::string limit = absl::FormatDuration(kStorageTimeout);
  v1::JobError error =
      waited ? MakeJobError(job_error::kDeadline,
                            absl::StrCat(what, " of ", places_.output, " did not begin within ",
                                         limit, ": the master was busy with outputs of others"),
                            "look at the file systems of the other jobs that are planned or "
                            "published; nothing was published, so run the job again")
             : MakeJobError(job_error::kDeadline,
                            absl::StrCat(what, " took longer than ", limit,
                                         " on the file system of ", places_.output),
                            "check that file system; before you run the job again, see whether "
                            "the output appeared");
  Apply(during == v1::JOB_STATE_COMMITTING ? machine_.CommitFailed(std::move(error))
                                           : machine_.Fail(std::move(error)));
}

template <typename Work, typename Done>
void JobRun::UseStorage(v1::JobState during, const std::string& what, Work work, Done done) {
  storage_busy_ = true;
  storage_begun_ = false;
  WatchStorage(during, what);
  storage_turn_ = env::OffloadInTurn(
      loop_, context_.seams.disk_pool, std::move(work), callbacks_.Guard([this, during, what] {
        storage_begun_ = true;
        if (machine_.state() == during) WatchStorage(during, what);
      }),
      callbacks_.Guard([this, done = std::move(done)](auto&& result) mutable {
        storage_busy_ = false;
        if (std::exchange(discard_waits_, false)) return DiscardNow();
        done(std::forward<decltype(result)>(result));
      }));
}

void JobRun::Stage() {
  UseStorage(
      v1::JOB_STATE_PLANNING, "staging",
      [&storage = context_.seams.storage, places = places_,
       overwrite = status_.spec().overwrite()] { return StageOutput(storage, places, overwrite); },
      [this](const absl::Status& staged) {
        if (!staged.ok()) return FailFrom(staged);
        Apply(machine_.Staged());
      });
}

v1::Fence JobRun::JobFence() const {
  v1::Fence fence;
  fence.set_job_id(status_.job_id());
  fence.set_master_epoch(context_.master_epoch);
  fence.set_plan_epoch(plan_epoch_);
  return fence;
}

void JobRun::Prepare() {
  if (!machine_.preparing()) return;  // a worker was lost while the plan was written down
  if (job_token_ == 0) job_token_ = context_.seams.random.Next();
  std::vector<RegisteredWorker> used;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    // One that holds something of an earlier plan drops it, even where this plan has no use for it.
    const bool here = workers_[w].api != nullptr;  // of those that an earlier master knew
    const bool needed = UsesWorker(w) || reservation_.Holds(workers_[w]);
    if (here && needed) used.push_back(workers_[w]);
  }
  reservation_.Prepare(
      std::move(used), PrepareRequest(), [this] { Apply(machine_.Prepared()); },
      [this](v1::JobError error) {
        if (resumed_) return ResumeFailed(error);
        PlanFailed(std::move(error));
      });
}

v1::PrepareJobRequest JobRun::PrepareRequest() const {
  v1::PrepareJobRequest request;
  *request.mutable_fence() = JobFence();
  *request.mutable_spec() = status_.spec();
  request.set_job_token(job_token_);
  request.set_staging_dir(places_.staging);
  request.set_memory_share(memory_share_);
  request.set_input_bytes(input_->input().total_bytes);
  if (resumed_) *request.mutable_kept() = resumed_->kept;
  return request;
}

double JobRun::PortWeight() const {
  const std::int32_t priority = status_.spec().priority();
  return priority >= 0 ? 1.0 + priority : 1 / (1.0 - priority);
}

void JobRun::Conduct() {
  // A worker was lost while the state was written down.
  if (machine_.state() != v1::JOB_STATE_RUNNING) return;
  ConductorRunListener listener;
  listener.step_committed = [this](v1::JournalRecord::StepCommitted committed) {
    blame_.StepCommitted(loop_.Now());
    BlameTheRefuted(committed);
    v1::JournalRecord record = Record();
    *record.mutable_step_committed() = std::move(committed);
    // Losing it to a crash costs running the step again, so nobody waits for it.
    context_.journal.AppendUnawaited(std::move(record));
  };
  listener.finished = [this] {
    status_.set_actual_makespan_s(plan_run_->Actual().makespan_s);
    TakeProgress();
    for (const v1::SkippedRecord& record : plan_run_->skipped()) *status_.add_skipped() = record;
    Apply(machine_.Ran());
  };
  listener.failed = [this](RunFault fault) { RunFailed(std::move(fault)); };
  GrantOptions grants{job_token_, 0, 0};
  if (planned_->network_known) {
    grants.pacing_fraction = context_.options.pacing_fraction;
    grants.look_ahead_bytes = context_.options.look_ahead_bytes;
  }
  plan_run_ =
      std::make_unique<ConductorRun>(loop_, context_.seams.random, planned_, *input_, workers_,
                                     places_, grants, SharedPorts{context_.ports, PortWeight()},
                                     JobFence(), status_.spec().skip_bad(), std::move(listener));
  run_blame_ = {};
  StartProgressTimer();
  earlier_.reset();
  const std::optional<ResumedPlan> resumed = std::exchange(resumed_, std::nullopt);
  if (resumed) {
    plan_run_->Resume(resumed->edited.state, resumed->steps);
  } else {
    plan_run_->Begin();
  }
  // A given plan is run as it is.
  editable_ = !given_plan_;
  if (editable_) LookForStragglers();
  EditForThoseWhoLeave();
  // They may have come while the others were prepared.
  if (resumed) TakeBackWorkers();
}

void JobRun::StartProgressTimer() {
  const MonoTime next = loop_.Now() + context_.options.progress_interval;
  loop_.RunAt(next, callbacks_.Guard([this, plan_epoch = plan_epoch_] {
    if (machine_.state() != v1::JOB_STATE_RUNNING || plan_epoch != plan_epoch_) return;
    PublishProgress();
    StartProgressTimer();
  }));
}

void JobRun::TakeProgress() {
  *status_.mutable_progress() = plan_run_->Progress();
  status_.clear_counters();
  for (const auto& [name, value] : plan_run_->counters()) {
    v1::Counter& counter = *status_.add_counters();
    counter.set_name(name);
    counter.set_value(value);
  }
}

void JobRun::PublishProgress() {
  TakeProgress();
  status_.set_sequence(context_.publish(status_));
}

void JobRun::Commit() {
  ManifestHead head{context_.options.version, status_.job_id(), status_.plan_id(), status_.spec()};
  UseStorage(
      v1::JOB_STATE_COMMITTING, "publishing",
      [&storage = context_.seams.storage, places = places_, overwrite = status_.spec().overwrite(),
       head = std::move(head), parts = plan_run_->Parts()]() mutable {
        return CommitOutput(storage, places, overwrite, head, std::move(parts));
      },
      [this](absl::StatusOr<std::vector<v1::OutputPart>> parts) {
        if (!parts.ok()) return CommitFailed(JobErrorFromStatus(parts.status()));
        parts_ = *std::move(parts);
        Apply(machine_.Committed());
      });
}

void JobRun::Release() {
  reservation_.Release(kReleaseBudget,
                       [this] { planning_.WhenReleased([this] { Apply(machine_.Released()); }); });
}

void JobRun::Discard() {
  loop_.RunAt(loop_.Now() + kDiscardBudget, callbacks_.Guard([this] {
    if (machine_.terminal()) return;
    LogWarning("The staging directory was not removed in time",
               {{"job", status_.job_id()}, {"path", places_.staging}});
    Apply(machine_.Discarded());
  }));
  WithdrawStorage();
  if (storage_busy_) {
    discard_waits_ = true;
  } else {
    DiscardNow();
  }
}

void JobRun::DiscardNow() {
  env::Offload(
      loop_, context_.seams.disk_pool,
      [&storage = context_.seams.storage, places = places_] {
        return DiscardOutput(storage, places);
      },
      callbacks_.Guard([this](const absl::Status& discarded) {
        if (!discarded.ok()) {
          LogWarning("The staging directory cannot be removed",
                     {{"job", status_.job_id()}, {"status", discarded.ToString()}});
        }
        Apply(machine_.Discarded());
      }));
}

}  // namespace weir::master
