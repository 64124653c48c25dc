// Handlers of Master for users: submit, watch, cancel, plans and logs.

#include <cassert>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/job_state_words.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/master/job/submission.h"
#include "runtime/master/master_impl.h"
#include "runtime/master/plan_stream.h"
#include "runtime/master/planning/given_plan.h"
#include "runtime/rpc/not_ready.h"
#include "runtime/rpc/wire_version.h"

namespace weir::master {
namespace {

constexpr std::size_t kReasonBytesMax = 1000;

absl::Status NoWorkers() {
  return StatusFromJobError(absl::StatusCode::kFailedPrecondition,
                            MakeJobError(job_error::kNoWorkers, "no worker is alive",
                                         "start workers with: weir worker --master HOST:PORT"));
}

}  // namespace

void Master::Impl::Handle(rpc::Call<rpc::Submit> call) {
  absl::Status understood = rpc::CheckWireVersion(call.request.wire_version(),
                                                  call.request.wire_version_oldest(), "client");
  if (!understood.ok()) return call.reply(understood);
  auto spec = std::make_shared<v1::JobSpec>(std::move(*call.request.mutable_spec()));
  if (const v1::JobStatus* known = store_.FindByKey(spec->idempotency_key())) {
    v1::SubmitResponse response;
    response.set_job_id(known->job_id());
    return call.reply(response);
  }
  if (journal_.stalled()) return call.reply(rpc::NotReadyError(journal_.StallInWords()));
  if (IsUnsettled(*spec)) return call.reply(OutputUnsettled(*spec));
  // A submit without a key is one of its own; no client's key begins with a NUL byte.
  std::string key = spec->idempotency_key();
  if (key.empty()) key = absl::StrCat(std::string(1, '\0'), unnamed_submits_++);
  // One under way may have nobody left who waits for it.
  const bool under_way = submits_.contains(key);
  // One that is asked for again is no further job: whoever asks must not hear that it is refused.
  if (!under_way &&
      static_cast<std::int64_t>(runs_.size() + submits_.size()) >= limits::kJobsQueuedMax) {
    return call.reply(absl::ResourceExhaustedError(
        absl::StrCat("the master holds ", limits::kJobsQueuedMax,
                     " unfinished jobs, its maximum; submit again when some are done")));
  }
  submits_[key].push_back(std::move(call.reply));
  if (under_way) return;
  CheckSubmission(seams_, lister_, callbacks_, spec, SubmissionKind::kRun,
                  [this, key, spec](absl::StatusOr<InputList> input) {
                    absl::Status status = input.status();
                    if (status.ok()) status = Serving();
                    if (status.ok() && journal_.stalled()) {
                      status = rpc::NotReadyError(journal_.StallInWords());
                    }
                    if (status.ok() && NobodyWillCome()) status = NoWorkers();
                    if (!status.ok()) return AnswerSubmit(key, status);
                    // Whoever checked it is done with it.
                    Accept(key, std::move(*spec), *std::move(input));
                  });
}

void Master::Impl::Accept(const std::string& key, v1::JobSpec spec, InputList input) {
  // Statuses, messages to workers and the manifest go without the plan: JobPlanned records it.
  std::shared_ptr<const v1::Plan> given_plan = TakeGivenPlan(spec);
  v1::JobStatus status;
  status.set_job_id(NewJobId());
  if (absl::Status held = artifacts_.Hold(status.job_id(), spec); !held.ok()) {
    return AnswerSubmit(key, held);
  }
  *status.mutable_spec() = std::move(spec);
  status.set_state(v1::JOB_STATE_QUEUED);
  status.set_submitted_unix_ms(seams_.wall_clock.UnixMillis());
  std::vector<v1::JournalRecord> records(1);
  records[0].set_job_id(status.job_id());
  *records[0].mutable_job_accepted()->mutable_spec() = status.spec();
  records[0].mutable_job_accepted()->set_unix_ms(status.submitted_unix_ms());
  status.mutable_progress()->set_input_bytes_total(input.total_bytes);
  records[0].mutable_job_accepted()->set_input_bytes(input.total_bytes);
  if (given_plan) {
    v1::JournalRecord& given = records.emplace_back();
    given.set_job_id(status.job_id());
    *given.mutable_job_plan_given()->mutable_plan() = *given_plan;
  }
  submits_written_.insert(key);
  journal_.AppendTogether(
      std::move(records),
      callbacks_.Guard([this, key, status = std::move(status), given_plan = std::move(given_plan),
                        input = std::move(input)](const absl::Status& written) mutable {
        submits_written_.erase(key);
        if (!written.ok()) {
          artifacts_.LetGo(status.job_id());
          return AnswerSubmit(key, written);
        }
        const std::string id = status.job_id();
        Accepted(std::move(status), std::move(given_plan), std::move(input));
        AnswerSubmit(key, id);
      }));
}

void Master::Impl::Accepted(v1::JobStatus status, std::shared_ptr<const v1::Plan> given_plan,
                            InputList input) {
  const std::string id = status.job_id();
  LogInfo("Job accepted", {{"job", id}, {"name", status.spec().job()}});
  Remember({&status, 1});
  // It is in the journal, for the next master.
  if (life_ == Life::kStopping) return;
  // A job that has to wait reads what its inputs are when it begins, and a queue of lists of a
  // million files each would fit nowhere: only one that begins now keeps what was listed for it.
  Enqueue(status, /*resumed=*/false);
  std::optional<InputList> fresh;
  if (!QueueHeld() && queue_.IsNext(id, Room())) fresh = std::move(input);
  runs_[id] = std::make_unique<JobRun>(*context_, std::move(status), std::move(given_plan),
                                       std::move(fresh));
  BeginJobs();
}

void Master::Impl::Remember(absl::Span<const v1::JobStatus> jobs) {
  std::vector<std::string> forgotten;
  for (const v1::JobStatus& status : jobs) {
    for (std::string& id : store_.Add(status, seams_.wall_clock.UnixMillis())) {
      forgotten.push_back(std::move(id));
    }
  }
  if (!forgotten.empty()) journal_.Forget(std::move(forgotten));
}

void Master::Impl::JournalStalls() {
  // The key stays until the journal has answered: who asks again under it hears of the same job.
  for (const std::string& key : submits_written_) {
    for (rpc::Reply<v1::SubmitResponse>& reply : std::exchange(submits_[key], {})) {
      reply(rpc::NotReadyError(
          absl::StrCat(journal_.StallInWords(),
                       "; the job may be accepted once it does, so ask again under the "
                       "same key, or see weir list")));
    }
  }
}

void Master::Impl::AnswerSubmit(const std::string& key, const absl::StatusOr<std::string>& job_id) {
  auto node = submits_.extract(key);
  if (node.empty()) return;
  for (rpc::Reply<v1::SubmitResponse>& reply : node.mapped()) {
    if (!job_id.ok()) {
      reply(job_id.status());
      continue;
    }
    v1::SubmitResponse response;
    response.set_job_id(*job_id);
    reply(std::move(response));
  }
}

std::string Master::Impl::NewJobId() {
  const absl::Time now = absl::FromUnixMillis(seams_.wall_clock.UnixMillis());
  const std::string second = absl::FormatTime("%Y%m%d-%H%M%S", now, absl::UTCTimeZone());
  // Jobs enter the store once they are in the journal: those on their way there are remembered.
  if (second != std::exchange(second_of_ids_, second)) ids_of_second_.clear();
  std::string id;
  do {
    id = absl::StrFormat("j-%s-%04x", second, seams_.random.Next() & 0xffff);
  } while (store_.Knows(id) || !ids_of_second_.insert(id).second);
  return id;
}

JobRun* Master::Impl::FindRun(const std::string& job_id) {
  const auto it = runs_.find(job_id);
  return it == runs_.end() ? nullptr : it->second.get();
}

ConductorRun* Master::Impl::FindConductor(const std::string& job_id) {
  const JobRun* run = FindRun(job_id);
  return run == nullptr ? nullptr : run->conductor();
}

bool Master::Impl::NobodyWillCome() const {
  return !workers_->AnyAlive() && seams_.loop.Now() >= workers_return_until_;
}

std::unique_ptr<rpc::Subscription> Master::Impl::Handle(rpc::Call<rpc::Watch> call) {
  assert(seams_.loop.IsCurrent());
  absl::Status serving = Serving();
  if (!serving.ok()) return watch_hub_.Refuse(serving, std::move(call.on_end));
  absl::StatusOr<const v1::JobStatus*> status = store_.Find(call.request.job_id());
  if (!status.ok()) return watch_hub_.Refuse(status.status(), std::move(call.on_end));
  return watch_hub_.Watch(**status, std::move(call.on_message), std::move(call.on_end));
}

void Master::Impl::Handle(rpc::Call<rpc::GetStatus> call) {
  absl::StatusOr<const v1::JobStatus*> status = store_.Find(call.request.job_id());
  if (!status.ok()) return call.reply(status.status());
  call.reply(WithPlace(**status));
}

void Master::Impl::Handle(rpc::Call<rpc::ListJobs> call) {
  v1::ListJobsResponse list = store_.List(call.request.max_jobs());
  for (v1::JobStatus& job : *list.mutable_jobs()) job = WithPlace(job);
  call.reply(std::move(list));
}

void Master::Impl::Handle(rpc::Call<rpc::Cancel> call) { call.Acknowledge(Cancel(call.request)); }

absl::Status Master::Impl::Cancel(const v1::CancelRequest& request) {
  if (JobRun* run = FindRun(request.job_id()))
    return run->Cancel(OneLine(request.reason(), kReasonBytesMax));
  absl::StatusOr<const v1::JobStatus*> status = store_.Find(request.job_id());
  if (!status.ok()) return status.status();
  if (FindUnsettled(request.job_id()) != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", request.job_id(), " cannot be cancelled yet: the file system of ",
                     (*status)->spec().output(),
                     " has not said whether it has published its output; check that file system, "
                     "and cancel again once the job is queued"));
  }
  if ((*status)->state() == v1::JOB_STATE_CANCELLED) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", request.job_id(), " has already ended (", JobStateInWords((*status)->state()), ")"));
}

void Master::Impl::Handle(rpc::Call<rpc::GetPlan> call) {
  FindPlan(call.request.job_id(), std::move(call.reply));
}

template <typename Method, typename AskFor>
std::unique_ptr<rpc::Subscription> Master::Impl::TellInPieces(rpc::Call<Method> call,
                                                              AskFor ask_for) {
  PlanStream stream = OpenPlanStream(seams_.loop, seams_.compute_pool, std::move(call.on_message),
                                     std::move(call.on_end));
  if (absl::Status serving = Serving(); !serving.ok()) {
    stream.reply(serving);
  } else {
    ask_for(std::move(call.request), std::move(stream.reply));
  }
  return std::move(stream.subscription);
}

std::unique_ptr<rpc::Subscription> Master::Impl::Handle(rpc::Call<rpc::GetPlanPieces> call) {
  return TellInPieces(std::move(call), [this](v1::GetPlanRequest request, auto reply) {
    FindPlan(request.job_id(), std::move(reply));
  });
}

void Master::Impl::FindPlan(const std::string& job_id, rpc::Reply<v1::GetPlanResponse> reply) {
  v1::GetPlanResponse response;
  if (JobRun* run = FindRun(job_id); run != nullptr && run->planned() != nullptr) {
    *response.mutable_plan() = run->planned()->message;
    *response.mutable_actual() = run->Actual();
    return reply(std::move(response));
  }
  if (absl::Status known = store_.Find(job_id).status(); !known.ok()) return reply(known);
  journal_.ReadLast(
      job_id, {v1::JournalRecord::kJobPlanned, v1::JournalRecord::kJobEnded},
      callbacks_.Guard([job_id, reply = std::move(reply)](
                           absl::StatusOr<std::vector<v1::JournalRecord>> records) mutable {
        if (!records.ok()) return reply(records.status());
        v1::GetPlanResponse found;
        for (v1::JournalRecord& record : *records) {
          if (record.has_job_planned()) {
            found.mutable_plan()->Swap(record.mutable_job_planned()->mutable_plan());
          }
          if (record.has_job_ended()) {
            found.mutable_actual()->Swap(record.mutable_job_ended()->mutable_actual());
          }
        }
        if (found.has_plan()) return reply(std::move(found));
        reply(absl::FailedPreconditionError(absl::StrCat("job ", job_id, " has no plan (yet)")));
      }));
}

void Master::Impl::Handle(rpc::Call<rpc::DryRun> call) {
  MakePlan(std::move(call.request), std::move(call.reply));
}

std::unique_ptr<rpc::Subscription> Master::Impl::Handle(rpc::Call<rpc::DryRunPieces> call) {
  return TellInPieces(std::move(call), [this](v1::DryRunRequest request, auto reply) {
    MakePlan(std::move(request), std::move(reply));
  });
}

void Master::Impl::MakePlan(v1::DryRunRequest request, rpc::Reply<v1::GetPlanResponse> reply) {
  // One of the copies is ours.
  if (dry_run_place_.use_count() > limits::kDryRunsMax) {
    return reply(absl::ResourceExhaustedError(
        absl::StrCat(limits::kDryRunsMax,
                     " dry runs are under way, the most that the master takes at a time; ask again "
                     "when some are done, or submit the job and look at its plan")));
  }
  auto spec = std::make_shared<v1::JobSpec>(std::move(*request.mutable_spec()));
  rpc::Reply<v1::GetPlanResponse> answer =
      [place = dry_run_place_,
       reply = std::move(reply)](absl::StatusOr<v1::GetPlanResponse> response) mutable {
        place.reset();
        reply(std::move(response));
      };
  CheckSubmission(seams_, lister_, callbacks_, spec, SubmissionKind::kDryRun,
                  [this, spec, reply = std::move(answer)](absl::StatusOr<InputList> input) mutable {
                    if (!input.ok()) return reply(input.status());
                    const std::vector<RegisteredWorker> alive = workers_->Alive();
                    if (alive.empty()) return reply(NoWorkers());
                    if (spec->has_plan())
                      return ExplainGiven(std::move(spec), alive, std::move(reply));
                    BeginDryRun(std::move(*spec), *std::move(input), alive, std::move(reply));
                  });
}

void Master::Impl::BeginDryRun(v1::JobSpec spec, InputList input,
                               const std::vector<RegisteredWorker>& alive,
                               rpc::Reply<v1::GetPlanResponse> reply) {
  const std::string id = absl::StrCat("dry-", NewJobId());
  if (absl::Status held = artifacts_.Hold(id, spec); !held.ok()) return reply(held);
  Planning& planning =
      *dry_runs_
           .emplace(id, std::make_unique<Planning>(seams_, options_, history_,
                                                   context_->master_epoch, id, std::move(spec)))
           .first->second;
  const std::string busy = Busy();
  sampling_dry_runs_.insert(id);
  const auto listed = std::make_shared<const InputList>(std::move(input));
  planning.Sample(*listed, alive, busy,
                  [this, id, &planning, alive, listed, reply = std::move(reply)]() mutable {
                    sampling_dry_runs_.erase(id);
                    planning.ShareWith(queue_.running());
                    planning.ShareMemory(queue_.ShareAlone(Room()));
                    planning.Plan(*listed, alive, /*note=*/"",
                                  [this, id, reply = std::move(reply)](
                                      absl::StatusOr<PlannedJob> planned) mutable {
                                    EndDryRun(id);
                                    if (!planned.ok()) return reply(planned.status());
                                    v1::GetPlanResponse response;
                                    response.mutable_plan()->Swap(&planned->message);
                                    reply(std::move(response));
                                  });
                  });
}

void Master::Impl::ExplainGiven(std::shared_ptr<const v1::JobSpec> spec,
                                absl::Span<const RegisteredWorker> alive,
                                rpc::Reply<v1::GetPlanResponse> reply) {
  if (absl::Status there = WorkersOfPlan(spec->plan(), alive).status(); !there.ok()) {
    return reply(there);
  }
  env::Offload(
      seams_.loop, seams_.compute_pool,
      [spec = std::move(spec)] { return AdoptGivenPlan(spec->plan(), spec->job()); },
      callbacks_.Guard([reply = std::move(reply)](absl::StatusOr<PlannedJob> planned) mutable {
        if (!planned.ok()) return reply(planned.status());
        v1::GetPlanResponse response;
        response.mutable_plan()->Swap(&planned->message);
        reply(std::move(response));
      }));
}

void Master::Impl::EndDryRun(const std::string& id) {
  dry_runs_.at(id)->WhenReleased([this, id] {
    // In a turn of its own: what calls this is part of what goes.
    seams_.loop.Post(callbacks_.Guard([this, id] {
      dry_runs_.erase(id);
      artifacts_.LetGo(id);
    }));
  });
}

SampleRun* Master::Impl::FindSample(const std::string& sample_id) {
  const std::string id = JobOfSample(sample_id);
  if (id.empty()) return nullptr;
  if (const JobRun* run = FindRun(id)) return run->sample();
  const auto dry = dry_runs_.find(id);
  return dry == dry_runs_.end() ? nullptr : dry->second->sample();
}

void Master::Impl::Handle(rpc::Call<rpc::GetLogs> call) {
  const std::string& job_id = call.request.job_id();
  absl::StatusOr<const v1::JobStatus*> status = store_.Find(job_id);
  if (!status.ok()) return call.reply(status.status());
  if (!IsTerminal((*status)->state())) {
    return call.reply(absl::FailedPreconditionError(
        absl::StrCat("job ", job_id, " is ", JobStateInWords((*status)->state()),
                     "; logs are kept when it ends")));
  }
  journal_.ReadLast(
      job_id, {v1::JournalRecord::kJobEnded},
      callbacks_.Guard([reply = std::move(call.reply)](
                           absl::StatusOr<std::vector<v1::JournalRecord>> records) mutable {
        if (!records.ok()) return reply(records.status());
        v1::GetLogsResponse response;
        for (v1::JournalRecord& record : *records) {
          if (!record.has_job_ended()) continue;
          response.mutable_logs()->Swap(record.mutable_job_ended()->mutable_logs());
        }
        reply(std::move(response));
      }));
}

}  // namespace weir::master
