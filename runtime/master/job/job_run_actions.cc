// What a job does in each of its states: plan, stage, prepare, conduct, commit, release, discard.
// Upstream: JobRun::CarryOut (job_run.cc). Downstream: pools, ConductorRun, calls to workers.

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/job/job_run.h"
#include "runtime/master/job/submission.h"
#include "runtime/master/planning/cluster_profile.h"
#include "runtime/master/planning/given_plan.h"

namespace weir::master {
namespace {

// A lost worker is noticed after a lease of 6 s; ending must be over within 10 s of the loss.
constexpr absl::Duration kReleaseBudget = absl::Milliseconds(2800);
constexpr absl::Duration kDiscardBudget = absl::Milliseconds(1000);
// Listing a million files or publishing thousands of parts on a slow file system takes minutes.
constexpr absl::Duration kStorageTimeout = absl::Minutes(10);

}  // namespace

void JobRun::ListInput() {
  WatchStorage(v1::JOB_STATE_PLANNING, "planning and staging");
  // It did not have to wait: what was listed for its submission still holds.
  if (input_) return Apply(machine_.Listed());
  auto work = [&storage = context_.seams.storage, spec = status_.spec()] {
    return ListInputs(storage, spec, SubmissionKind::kRun);
  };
  env::Offload(loop_, context_.seams.disk_pool, std::move(work),
               callbacks_.Guard([this](absl::StatusOr<InputList>&& input) {
                 if (!input.ok()) return FailFrom(input.status());
                 if (!machine_.can_end()) return;
                 input_.emplace(*std::move(input));
                 Apply(machine_.Listed());
               }));
}

void JobRun::Sample() {
  const std::vector<RegisteredWorker> workers = context_.alive_workers();
  if (given_plan_) return Apply(machine_.Sampled());
  if (workers.empty()) return Apply(machine_.Sampled());  // MakePlan says what that means
  planning_.Sample(input_->input(), workers, "", [this] { Apply(machine_.Sampled()); });
}

void JobRun::MakePlan() {
  ++plan_epoch_;
  reservation_.WithdrawPreparation();
  workers_ = context_.alive_workers();
  if (workers_.empty()) {
    return Fail(MakeJobError(job_error::kNoWorkers, "no worker is alive",
                             "start workers with: weir worker --master HOST:PORT"));
  }
  if (given_plan_) {
    absl::Status fits = CheckGivenPlanInput(*given_plan_, input_->input().total_bytes);
    if (!fits.ok()) return FailFrom(fits);
    auto workers = WorkersOfPlan(*given_plan_, workers_);
    if (!workers.ok()) return FailFrom(workers.status());
    workers_ = *std::move(workers);
    const bool known = OriginOfNetwork(workers_, context_.options) != planner::Origin::kDefault;
    return TakePlan(
        [plan = given_plan_, job = status_.spec().job(), known]() -> absl::StatusOr<PlannedJob> {
          absl::StatusOr<PlannedJob> adopted = AdoptGivenPlan(*plan, job);
          if (adopted.ok()) adopted->network_known = known;
          return adopted;
        });
  }
  planning_.Plan(input_->input(), workers_,
                 [this, epoch = plan_epoch_](absl::StatusOr<PlannedJob> planned) {
                   PlanMade(epoch, std::move(planned));
                 });
}

void JobRun::TakePlan(absl::AnyInvocable<absl::StatusOr<PlannedJob>()> planned) {
  env::Offload(loop_, context_.seams.compute_pool, std::move(planned),
               callbacks_.Guard([this, epoch = plan_epoch_](absl::StatusOr<PlannedJob> made) {
                 PlanMade(epoch, std::move(made));
               }));
}

void JobRun::PlanMade(std::int64_t plan_epoch, absl::StatusOr<PlannedJob> planned) {
  if (!machine_.can_end() || plan_epoch != plan_epoch_) return;
  if (!planned.ok()) return FailFrom(planned.status());
  planned_ = std::make_unique<const PlannedJob>(*std::move(planned));
  Apply(machine_.Planned());
}

void JobRun::WatchStorage(v1::JobState during, const std::string& what) {
  loop_.RunAt(loop_.Now() + kStorageTimeout, callbacks_.Guard([this, during, what] {
    if (machine_.state() != during) return;
    v1::JobError error = MakeJobError(
        job_error::kDeadline,
        absl::StrCat(what, " took longer than ", absl::FormatDuration(kStorageTimeout),
                     " on the file system of ", places_.output),
        "check that file system; before you run the job again, see whether the output appeared");
    Apply(during == v1::JOB_STATE_COMMITTING ? machine_.CommitFailed(std::move(error))
                                             : machine_.Fail(std::move(error)));
  }));
}

void JobRun::Stage() {
  storage_busy_ = true;
  env::Offload(
      loop_, context_.seams.disk_pool,
      [&storage = context_.seams.storage, places = places_,
       overwrite = status_.spec().overwrite()] { return StageOutput(storage, places, overwrite); },
      callbacks_.Guard([this](const absl::Status& staged) {
        storage_busy_ = false;
        if (std::exchange(discard_waits_, false)) return DiscardNow();
        if (!staged.ok()) return FailFrom(staged);
        Apply(machine_.Staged());
      }));
}

bool JobRun::UsesWorker(std::size_t index) const {
  const planner::Plan& plan = planned_->plan;
  return !plan.compute_order[index].empty() || !plan.send_order[index].empty() ||
         !plan.receive_order[index].empty();
}

bool JobRun::StillNeeds(std::size_t index) const {
  if (machine_.state() != v1::JOB_STATE_RUNNING) return true;
  return plan_run_ ? plan_run_->Needs(static_cast<planner::WorkerIndex>(index)) : UsesWorker(index);
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
    if (UsesWorker(w)) used.push_back(workers_[w]);
  }
  v1::PrepareJobRequest request;
  *request.mutable_fence() = JobFence();
  *request.mutable_spec() = status_.spec();
  request.set_job_token(job_token_);
  request.set_staging_dir(places_.staging);
  reservation_.Prepare(
      std::move(used), std::move(request), [this] { Apply(machine_.Prepared()); },
      [this](v1::JobError error) { Fail(std::move(error)); });
}

void JobRun::Conduct() {
  ConductorRunListener listener;
  listener.step_committed = [this](const std::string& step_name, planner::StepIndex step,
                                   int attempt, const std::string& worker) {
    LogInfo("Step committed", {{"job", status_.job_id()}, {"step", step_name}, {"worker", worker}});
    v1::JournalRecord record = Record();
    v1::JournalRecord::StepCommitted& committed = *record.mutable_step_committed();
    committed.set_plan_epoch(plan_epoch_);
    committed.set_step(step);
    committed.set_attempt(attempt);
    committed.set_worker(worker);
    // Losing it to a crash costs running the step again, so nobody waits for it.
    context_.journal.AppendUnawaited(std::move(record));
  };
  listener.finished = [this] {
    status_.set_actual_makespan_s(plan_run_->Actual().makespan_s);
    TakeProgress();
    for (const v1::SkippedRecord& record : plan_run_->skipped()) *status_.add_skipped() = record;
    Apply(machine_.Ran());
  };
  listener.failed = [this](v1::JobError error) { Fail(std::move(error)); };
  GrantOptions grants{job_token_, 0, 0};
  if (planned_->network_known) {
    grants.pacing_fraction = context_.options.pacing_fraction;
    grants.look_ahead_bytes = context_.options.look_ahead_bytes;
  }
  plan_run_ = std::make_unique<ConductorRun>(loop_, context_.seams.random, *planned_, *input_,
                                             workers_, places_, grants, JobFence(),
                                             status_.spec().skip_bad(), std::move(listener));
  StartProgressTimer();
  plan_run_->Begin();
}

void JobRun::StartProgressTimer() {
  loop_.RunAt(loop_.Now() + context_.options.progress_interval, callbacks_.Guard([this] {
    if (machine_.state() != v1::JOB_STATE_RUNNING) return;
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
  storage_busy_ = true;
  WatchStorage(v1::JOB_STATE_COMMITTING, "publishing the output");
  ManifestHead head{context_.options.version, status_.job_id(), status_.plan_id(), status_.spec()};
  env::Offload(
      loop_, context_.seams.disk_pool,
      [&storage = context_.seams.storage, places = places_, overwrite = status_.spec().overwrite(),
       head = std::move(head), parts = plan_run_->Parts()]() mutable {
        return CommitOutput(storage, places, overwrite, head, std::move(parts));
      },
      callbacks_.Guard([this](absl::StatusOr<std::vector<v1::OutputPart>> parts) {
        storage_busy_ = false;
        if (std::exchange(discard_waits_, false)) return DiscardNow();
        if (!parts.ok()) {
          return Apply(machine_.CommitFailed(JobErrorFromStatus(parts.status())));
        }
        parts_ = *std::move(parts);
        Apply(machine_.Committed());
      }));
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
