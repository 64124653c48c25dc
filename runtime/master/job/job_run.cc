#include "runtime/master/job/job_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/wire/plan_wire.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/job_state_words.h"
#include "runtime/base/log.h"
#include "runtime/master/conduct/progress.h"
#include "runtime/master/input/cold_input.h"
#include "runtime/master/learning/learned_shape.h"
#include "runtime/master/output/write_rate.h"
#include "runtime/master/planning/cluster_profile.h"
#include "runtime/master/workers/worker_logs.h"

namespace weir::master {

JobRun::JobRun(const JobRunContext& context, v1::JobStatus accepted,
               std::shared_ptr<const v1::Plan> given_plan, std::optional<InputList> input,
               bool resumed, std::shared_ptr<const JournalledRun> earlier)
    : context_(context),
      loop_(context.seams.loop),
      status_(std::move(accepted)),
      given_plan_(std::move(given_plan)),
      places_(status_.spec().output(), status_.job_id(), resumed ? context.master_epoch : 0),
      plan_epoch_(earlier ? earlier->plan_epoch : 0),
      blame_(given_plan_ != nullptr),
      earlier_(std::move(earlier)),
      reservation_(context.seams.loop, context.seams.random),
      planning_(context.seams, context.options, context.history, context.master_epoch,
                status_.job_id(), status_.spec()) {
  if (input) input_.emplace(*std::move(input));
  StartDeadlineTimer();
}

JobRun::~JobRun() {
  CancelTimer(deadline_);
  CancelTimer(storage_watch_);
}

void JobRun::CancelTimer(std::optional<env::EventLoop::TimerId>& timer) {
  if (timer) loop_.CancelTimer(*timer);
  timer.reset();
}

void JobRun::StartDeadlineTimer() {
  const std::int64_t deadline_ms = status_.spec().deadline_ms();
  if (deadline_ms == 0) return;
  // A job that an earlier master accepted has waited for a part of it already.
  const std::int64_t waited_ms = std::clamp<std::int64_t>(
      context_.seams.wall_clock.UnixMillis() - status_.submitted_unix_ms(), 0, deadline_ms);
  deadline_ = loop_.RunAt(
      loop_.Now() + absl::Milliseconds(deadline_ms - waited_ms),
      callbacks_.Guard([this, deadline_ms] {
        deadline_.reset();
        Fail(MakeJobError(
            job_error::kDeadline,
            absl::StrCat("the job was not done within its deadline of ", deadline_ms,
                         " ms (it was ", JobStateInWords(machine_.state()), ")"),
            "allow more time, add workers, or look at the plan for what limits the job"));
      }));
}

void JobRun::Begin(double memory_share) {
  memory_share_ = memory_share;
  planning_.ShareMemory(memory_share);
  if (context_.options.measure_disks) {
    planning_.MeasureDisksBy([&storage = context_.seams.storage, &loop = loop_,
                              output = places_.output](const DiskQuestion& asked) {
      DiskTimes times;
      times.input = MeasureColdReadSeconds(storage, loop, asked.input);
      if (asked.output) times.output = MeasureWriteSeconds(storage, loop, output);
      return times;
    });
  }
  Apply(machine_.Begin());
}

absl::Status JobRun::Cancel(const std::string& reason) {
  // Asked again while it ends: that is what was asked for.
  if (machine_.state() == v1::JOB_STATE_ENDING &&
      machine_.error().code() == job_error::kCancelled) {
    return absl::OkStatus();
  }
  if (!machine_.can_end()) {
    return absl::FailedPreconditionError(absl::StrCat("job ", status_.job_id(), " is ",
                                                      JobStateInWords(machine_.state()),
                                                      ", too late to cancel it"));
  }
  Apply(machine_.Cancel(MakeJobError(
      job_error::kCancelled, reason.empty() ? std::string("the job was cancelled")
                                            : absl::StrCat("the job was cancelled: ", reason))));
  return absl::OkStatus();
}

void JobRun::Fail(v1::JobError error) { Apply(machine_.Fail(std::move(error))); }

void JobRun::FailFrom(const absl::Status& status) { Fail(JobErrorFromStatus(status)); }

v1::ActualRun JobRun::Actual() const {
  return plan_run_ ? planner::ActualToProto(plan_run_->ActualWithParts()) : v1::ActualRun();
}

void JobRun::Apply(std::vector<JobAction> actions) {
  actions_.insert(actions_.end(), actions.begin(), actions.end());
  Pump();
}

void JobRun::Pump() {
  while (!waiting_for_journal_ && !actions_.empty()) {
    const JobAction action = actions_.front();
    actions_.pop_front();
    CarryOut(action);
  }
}

void JobRun::CarryOut(JobAction action) {
  switch (action) {
    case JobAction::kJournal:
      return JournalState();
    case JobAction::kList:
      return ListInput();
    case JobAction::kSample:
      return Sample();
    case JobAction::kPlan:
      return PlanOnce();
    case JobAction::kJournalPlan:
      return JournalPlan();
    case JobAction::kStage:
      return Stage();
    case JobAction::kPrepare:
      return Prepare();
    case JobAction::kConduct:
      return Conduct();
    case JobAction::kCommit:
      return Commit();
    case JobAction::kStopPlan:
      if (plan_run_) plan_run_->Stop();
      return;
    case JobAction::kStop:
      planning_.Stop();
      reservation_.Stop();
      if (plan_run_) plan_run_->Stop();
      return;
    case JobAction::kRelease:
      return Release();
    case JobAction::kDiscard:
      return Discard();
    case JobAction::kFinish:
      return Finish();
  }
}

v1::JournalRecord JobRun::Record() const {
  v1::JournalRecord record;
  record.set_job_id(status_.job_id());
  return record;
}

void JobRun::WaitForJournal(v1::JournalRecord record, JournalWriter::Done done) {
  context_.journal.Append(std::move(record), OnceJournalled(std::move(done)));
}

JournalWriter::Done JobRun::OnceJournalled(JournalWriter::Done done) {
  waiting_for_journal_ = true;
  return callbacks_.Guard([this, done = std::move(done)](const absl::Status& status) mutable {
    waiting_for_journal_ = false;
    done(status);
    Pump();
  });
}

void JobRun::JournalFailed(const absl::Status& status) {
  // Once the job is ending there is nothing better to do than to end it.
  if (!machine_.can_end() && machine_.state() != v1::JOB_STATE_COMMITTING) return;
  actions_.clear();
  v1::JobError error = JobErrorFromStatus(status);
  if (absl::IsResourceExhausted(status)) error.set_code(std::string(job_error::kDiskFull));
  // No worker did that.
  if (absl::IsUnavailable(status)) error.set_code(std::string(job_error::kInternal));
  error.set_message(absl::StrCat("the master cannot write its journal: ", status.message()));
  Apply(machine_.can_end() ? machine_.Fail(std::move(error))
                           : machine_.CommitFailed(std::move(error)));
}

void JobRun::JournalState() {
  status_.set_state(machine_.state());
  if (machine_.state() == v1::JOB_STATE_ENDING) *status_.mutable_error() = machine_.error();
  v1::JournalRecord record = Record();
  v1::JournalRecord::JobStateChanged& change = *record.mutable_job_state_changed();
  change.set_state(status_.state());
  change.set_unix_ms(context_.seams.wall_clock.UnixMillis());
  change.set_plan_id(status_.plan_id());
  *change.mutable_error() = status_.error();
  WaitForJournal(std::move(record), [this](const absl::Status& status) {
    if (!status.ok()) return JournalFailed(status);
    Published();
  });
}

void JobRun::Published() {
  LogInfo("Job changed its state",
          {{"job", status_.job_id()}, {"state", JobStateWord(status_.state())}});
  status_.set_sequence(context_.publish(status_));
}

void JobRun::TakePlannedStatus() {
  status_.set_plan_id(planned_->plan_id);
  status_.set_plan_text(planned_->plan_text);
  status_.set_predicted_makespan_s(planned_->prediction.makespan_s);
  status_.set_lower_bound_s(planned_->plan.summary.lower_bound_s);
}

v1::JournalRecord JobRun::PlannedRecord(const PlannedJob& job) const {
  v1::JournalRecord record = Record();
  v1::JournalRecord::JobPlanned& planned = *record.mutable_job_planned();
  *planned.mutable_plan() = job.message;
  planned.set_plan_epoch(plan_epoch_);
  *planned.mutable_losses() = status_.losses();
  planned.set_master_epoch(context_.master_epoch);
  planned.set_input_fingerprint(input_->Fingerprint());
  return record;
}

void JobRun::JournalPlan() {
  TakePlannedStatus();
  *status_.mutable_progress() = ProgressBeforeRun(planned_->plan, planned_->prediction);
  if (resumed_) MarkLosses(resumed_->edited, *status_.mutable_losses());
  for (v1::WorkerLoss& loss : *status_.mutable_losses()) {
    if (loss.plan_epoch() == 0) loss.set_plan_epoch(plan_epoch_);
  }
  v1::JournalRecord record = PlannedRecord(*planned_);
  record.mutable_job_planned()->set_resumed(resumed_.has_value());
  if (resumed_) {
    for (const planner::StepIndex step : resumed_->redone) {
      record.mutable_job_planned()->add_steps_redone(step);
    }
    for (const int attempt : StaleAttempts(resumed_->steps, resumed_->edited.state)) {
      record.mutable_job_planned()->add_stale_attempts(attempt);
    }
  }
  WaitForJournal(std::move(record), [this](const absl::Status& status) {
    if (!status.ok()) return JournalFailed(status);
    Published();
  });
}

void JobRun::Learn() {
  // Of a plan that another master made, nobody knows what it was made from.
  if (!plan_run_ || planned_->cluster.workers.size() != workers_.size()) return;
  // What was lost and done again would be taken for the shape of the job.
  if (plan_run_->num_edits() > 0) return;
  // Rates of processors and ports that others used as well would be taken for those of the job.
  if (!context_.ran_alone(status_.job_id())) return;
  // Rates of a loop are those of its iterations, for which a shape has no place yet.
  if (planned_->shape.loop) return;
  const planner::ActualRun actual = plan_run_->Actual();
  std::int64_t part_bytes = 0;
  for (const v1::OutputPart& part : status_.parts()) part_bytes += part.bytes();
  std::vector<std::string> domains;
  for (const RegisteredWorker& worker : workers_) {
    domains.push_back(worker.identity.handover_domain());
  }
  v1::JournalRecord record = Record();
  v1::JobShapeLearned& shape = *record.mutable_job_shape_learned();
  shape = LearnFrom({planned_->plan, planned_->shape, planned_->cluster, actual, part_bytes,
                     plan_run_->codec_trials(), domains},
                    planning_.history());
  shape.set_job(status_.spec().job());
  *shape.mutable_parameters() = status_.spec().parameters();
  shape.set_input_bytes(input_->input().total_bytes);
  shape.set_num_workers(static_cast<std::int32_t>(workers_.size()));
  if (planning_.data_seen() != nullptr) *shape.mutable_seen() = *planning_.data_seen();
  shape.set_input_fingerprint(input_->Fingerprint());
  if (input_->input().look) *shape.mutable_look() = *input_->input().look;
  // Workers of one machine differ by chance only.
  if (SameHost(workers_)) shape.clear_workers();
  for (const std::string& outlier : shape.outliers()) {
    LogWarning("A job went otherwise than known", {{"job", status_.job_id()}, {"number", outlier}});
  }
  context_.learn(shape);
  // Losing it to a crash costs a prediction; the end of the job, awaited, is written behind it.
  context_.journal.AppendUnawaited(std::move(record));
}

void JobRun::Finish() {
  CancelTimer(deadline_);
  status_.set_state(machine_.state());
  status_.set_ended_unix_ms(context_.seams.wall_clock.UnixMillis());
  if (machine_.state() == v1::JOB_STATE_SUCCEEDED) {
    for (v1::OutputPart& part : parts_) *status_.add_parts() = std::move(part);
    Learn();
  } else {
    *status_.mutable_error() = machine_.error();
    if (plan_run_) TakeProgress();
  }
  v1::JournalRecord record = Record();
  v1::JournalRecord::JobEnded& ended = *record.mutable_job_ended();
  *ended.mutable_status() = status_;
  *ended.mutable_actual() = Actual();
  for (v1::WorkerLog& log : FittedLogs(reservation_.logs())) *ended.add_logs() = std::move(log);
  // Until it is there a later master would take the job for one that runs.
  JournalWriter::Done once_tried = OnceJournalled([this](const absl::Status& status) {
    if (!status.ok()) {
      LogWarning("The end of a job is not in the journal yet; tries again until it is",
                 {{"job", status_.job_id()}, {"status", status.ToString()}});
    }
    if (status_.has_error()) {
      LogWarning("Job ended with an error",
                 {{"job", status_.job_id()}, {"error", DescribeJobError(status_.error())}});
    }
    Published();
    loop_.Post(callbacks_.Guard([this] { context_.finished(status_.job_id()); }));
  });
  context_.journal.AppendUntilWritten(std::move(record), std::move(once_tried));
}

}  // namespace weir::master
