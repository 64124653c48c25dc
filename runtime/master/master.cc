#include "runtime/master/master.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/master_impl.h"
#include "runtime/rpc/not_ready.h"

namespace weir::master {
namespace {

/// A worker epoch holds the master's epoch above it, so that none is used twice across restarts.
constexpr int kWorkerEpochBits = 32;

}  // namespace

Master::Impl::Impl(const MasterSeams& seams, MasterOptions options)
    : seams_(seams),
      options_(std::move(options)),
      journal_(seams.loop, seams.journal_pool ? *seams.journal_pool : seams.disk_pool,
               seams.journal),
      lister_(seams.loop, seams.list_pool ? *seams.list_pool : seams.disk_pool),
      watch_hub_(seams.loop),
      store_(watch_hub_, options_.jobs_kept, options_.jobs_kept_for),
      artifacts_(seams_, options_.artifact_directory),
      processes_(seams.loop, seams.connector,
                 [this](WorkerId worker, Epoch epoch) { AskAfterCutOff(worker, epoch); }),
      queue_(std::max(1, options_.running_jobs_max)) {
  journal_.OnStall([this] { JournalStalls(); });
}

absl::Status Master::Impl::Serving() const {
  switch (life_) {
    case Life::kServing:
      return absl::OkStatus();
    case Life::kStopping:
      return rpc::NotReadyError("the master is shutting down");
    default:
      return rpc::NotReadyError("the master is starting; ask again in a moment");
  }
}

absl::Status Master::Impl::Admit(rpc::JobService) const {
  assert(seams_.loop.IsCurrent());
  return Serving();
}

absl::Status Master::Impl::Admit(rpc::ClusterService) const {
  assert(seams_.loop.IsCurrent());
  return workers_ != nullptr ? absl::OkStatus() : Serving();
}

void Master::Impl::Start(absl::AnyInvocable<void(absl::Status)> on_ready) {
  assert(life_ == Life::kNew);
  life_ = Life::kStarting;
  // Jobs that wait hold theirs as soon as they are known.
  artifacts_.Open(
      [this, on_ready = std::move(on_ready)]() mutable { ReadHistory(std::move(on_ready)); });
}

void Master::Impl::ReadHistory(absl::AnyInvocable<void(absl::Status)> on_ready) {
  auto history = std::make_shared<absl::StatusOr<JobHistory>>();
  journal_.Use([history](Journal& journal) { *history = master::ReadHistory(journal); },
               callbacks_.Guard([this, history, on_ready = std::move(on_ready)]() mutable {
                 if (!history->ok()) return on_ready(history->status());
                 Settle(*std::move(*history), std::move(on_ready));
               }));
}

void Master::Impl::Recovered() {
  auto [history, on_ready] = *std::exchange(recovering_, std::nullopt);
  TakeSettled(std::exchange(settled_, {}), history);
  SayUnsettled();
  const std::int64_t master_epoch = history.last_master_epoch + 1;
  if (history.network_measured) TakeRecovered(*history.network_measured);
  Remember(history.jobs);
  for (const v1::JobShapeLearned& shape : history.shapes) history_.Take(shape);
  for (v1::JournalRecord& ending : history.endings) journal_.AppendUnawaited(std::move(ending));
  v1::JournalRecord record;
  v1::JournalRecord::MasterStarted& started = *record.mutable_master_started();
  started.set_master_epoch(master_epoch);
  started.set_unix_ms(seams_.wall_clock.UnixMillis());
  started.set_version(options_.version);
  // Served only once the epoch is durable: a later master must take a greater one.
  journal_.Append(
      std::move(record),
      callbacks_.Guard([this, master_epoch, interrupted = history.endings.size(),
                        queue = std::move(history.queue),
                        on_ready = std::move(on_ready)](const absl::Status& status) mutable {
        if (!status.ok()) return on_ready(status);
        const auto resumed =
            std::count_if(queue.begin(), queue.end(), [](const auto& job) { return job.resumed; });
        LogInfo("Master serves", {{"epoch", master_epoch},
                                  {"ended_jobs", interrupted},
                                  {"resumed_jobs", resumed},
                                  {"queued_jobs", queue.size() - static_cast<std::size_t>(resumed)},
                                  {"unsettled_outputs", unsettled_.size()}});
        ServeFrom(master_epoch);
        // Those that may go on need theirs as those do that wait.
        for (const auto& [output, unsettled] : unsettled_) {
          for (const JobHistory::Unsettled& job : unsettled.jobs) {
            artifacts_.Hold(job.status.job_id(), job.status.spec()).IgnoreError();
          }
        }
        if (life_ == Life::kServing) QueueAgain(std::move(queue));
        // Those that were settled while the epoch was written down.
        TakeSettledLate();
        on_ready(absl::OkStatus());
      }));
}

void Master::Impl::ServeFrom(std::int64_t master_epoch) {
  workers_ =
      std::make_unique<WorkerTable>(seams_.connector, (master_epoch << kWorkerEpochBits) + 1);
  context_ = std::make_unique<JobRunContext>(JobRunContext{
      seams_, options_, journal_, lister_, master_epoch, history_, ports_, return_times_,
      [this](const v1::JobShapeLearned& shape) { history_.Take(shape); },
      [this](const std::string& job) { return queue_.Beside(job); },
      [this](const std::string& job) { return BusyBeside(job); },
      [this](const std::string& job) { return queue_.RanAlone(job); },
      [this] { return workers_->Alive(); },
      [this](const v1::JobStatus& status) { return store_.Update(status); },
      [this](std::string job_id) { JobFinished(std::move(job_id)); }});
  if (master_epoch > 1) workers_return_until_ = seams_.loop.Now() + limits::kWorkerLease;
  if (life_ == Life::kStarting) life_ = Life::kServing;
}

void Master::Impl::QueueAgain(std::vector<JobHistory::Waiting> waiting) {
  for (JobHistory::Waiting& job : waiting) {
    const absl::StatusOr<const v1::JobStatus*> status = store_.Find(job.job_id);
    if (!status.ok()) continue;
    // Its workers say so, should something be missing.
    artifacts_.Hold(job.job_id, (*status)->spec()).IgnoreError();
    runs_[job.job_id] = std::make_unique<JobRun>(*context_, **status, std::move(job.given_plan),
                                                 std::nullopt, job.resumed, std::move(job.run));
    Enqueue(**status, job.resumed);
  }
}

void Master::Impl::Shutdown(absl::AnyInvocable<void()> on_stopped) {
  life_ = Life::kStopping;
  on_stopped_.push_back(std::move(on_stopped));
  if (calibration_) calibration_->Cancel(absl::UnavailableError("the master is shutting down"));
  AnswerJoins(groups_.EndAll(absl::UnavailableError("the master is shutting down")));
  // These stay in the journal as they are, for the next master. Workers end what they run of them
  // when its answers, or none, tell them that this one is gone, and keep their runs.
  absl::erase_if(runs_, [&](const auto& run) {
    return run.second->queued() || (options_.journal_outlives && run.second->resumable());
  });
  std::vector<std::string> ids;
  for (const auto& [id, run] : runs_) ids.push_back(id);
  for (const std::string& id : ids) {
    if (JobRun* run = FindRun(id)) {
      run->Fail(MakeJobError(job_error::kMasterRestarted, "the master was shut down"));
    }
  }
  StopIfIdle();
}

void Master::Impl::StopIfIdle() {
  if (life_ != Life::kStopping || !runs_.empty()) return;
  // One that has not served leaves nothing to let go of.
  if (context_ == nullptr || stop_recorded_) return Stopped();
  if (std::exchange(stop_recording_, true)) return;
  v1::JournalRecord record;
  record.mutable_master_stopped()->set_unix_ms(seams_.wall_clock.UnixMillis());
  journal_.Append(std::move(record), callbacks_.Guard([this](const absl::Status& written) {
    if (!written.ok()) {
      LogWarning("The next master will take this one for killed", {{"why", written.ToString()}});
    }
    stop_recorded_ = true;
    Stopped();
  }));
}

void Master::Impl::Stopped() {
  watch_hub_.EndAll(absl::UnavailableError("the master is shutting down"));
  for (auto& on_stopped : std::exchange(on_stopped_, {})) seams_.loop.Post(std::move(on_stopped));
}

Master::Master(const MasterSeams& seams, MasterOptions options)
    : impl_(std::make_unique<Impl>(seams, std::move(options))) {}
Master::~Master() = default;

void Master::Start(absl::AnyInvocable<void(absl::Status)> on_ready) {
  impl_->Start(std::move(on_ready));
}

void Master::Shutdown(absl::AnyInvocable<void()> on_stopped) {
  impl_->Shutdown(std::move(on_stopped));
}

const rpc::JobApi& Master::jobs() const { return impl_->jobs(); }
const rpc::ClusterApi& Master::cluster() const { return impl_->cluster(); }

}  // namespace weir::master
