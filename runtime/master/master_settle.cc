// Outputs that an earlier master left in the middle: settled by Master before it serves where their
// file systems answer, and behind that where they do not.
//
// Exactly-once publication stands on an order: what a job has published is known before the job
// runs again, and before another one may replace that output. A start that waited for it without
// bound gave one dead file system the whole master; so the order is kept for each output by itself.
// Until it is settled its jobs neither run nor end, no job begins that writes there, and none is
// taken for it. Outputs are told apart by their names: one that a link leads to has two.

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/standstill.h"
#include "runtime/master/job/job_machine.h"
#include "runtime/master/master_impl.h"

namespace weir::master {

void Master::Impl::Settle(JobHistory history, absl::AnyInvocable<void(absl::Status)> on_ready) {
  for (JobHistory::Unsettled& job : std::exchange(history.unsettled, {})) {
    unsettled_[OutputOf(job.status.spec())].jobs.push_back(std::move(job));
  }
  recovering_.emplace(Recovering{std::move(history), std::move(on_ready)});
  if (unsettled_.empty()) return Recovered();
  for (auto& [output, unsettled] : unsettled_) SettleOutput(output, unsettled);
  settle_timer_ =
      seams_.loop.RunAt(seams_.loop.Now() + limits::kSettleWait, callbacks_.Guard([this] {
        settle_timer_.reset();
        Recovered();
      }));
}

void Master::Impl::SettleOutput(const std::string& output, UnsettledOutput& unsettled) {
  env::WorkPool& pool = seams_.settle_pool ? *seams_.settle_pool : seams_.disk_pool;
  // Jobs of one output go one after another: each may put an old one back.
  auto work = [&storage = seams_.storage, jobs = unsettled.jobs] {
    std::vector<PublishedParts> published;
    for (const JobHistory::Unsettled& job : jobs) published.push_back(SettleOutputs(storage, job));
    return published;
  };
  unsettled.turn = env::OffloadInTurn(
      seams_.loop, pool, std::move(work), [] {},
      callbacks_.Guard([this, output](std::vector<PublishedParts> published) {
        Settled(output, std::move(published));
      }));
  AwaitOutput(output, unsettled);
}

// A master that stood still, and its pool with it, has as long as ever to hear what was found.
void Master::Impl::AwaitOutput(const std::string& output, UnsettledOutput& unsettled) {
  const MonoTime until = seams_.loop.Now() + limits::kSettleMax;
  unsettled.timer = seams_.loop.RunAt(until, callbacks_.Guard([this, output, until] {
    if (seams_.loop.Now() - until < kStandstill) return GiveUpOutput(output);
    AwaitOutput(output, unsettled_.at(output));
  }));
}

void Master::Impl::GiveUpOutput(const std::string& output) {
  UnsettledOutput& unsettled = unsettled_.at(output);
  unsettled.timer.reset();
  // One that has begun goes on some day: it tidies up after these jobs, or puts the old output back
  // where there is none. A rename onto what another job has published by then fails.
  unsettled.turn->Withdraw();
  const absl::Status late = absl::DeadlineExceededError(
      absl::StrCat("the file system of ", output, " did not answer within ",
                   absl::FormatDuration(limits::kSettleMax)));
  Settled(output, std::vector<PublishedParts>(unsettled.jobs.size(), late));
}

void Master::Impl::Settled(std::string output, std::vector<PublishedParts> published) {
  auto node = unsettled_.extract(output);
  if (node.empty()) return;  // given up before
  const UnsettledOutput& unsettled = node.mapped();
  if (unsettled.timer) seams_.loop.CancelTimer(*unsettled.timer);
  for (std::size_t i = 0; i < published.size(); ++i) {
    settled_.push_back(
        Conclude(unsettled.jobs[i], std::move(published[i]), seams_.wall_clock.UnixMillis()));
  }
  if (!recovering_) return TakeSettledLate();
  if (!unsettled_.empty()) return;
  if (settle_timer_) seams_.loop.CancelTimer(*std::exchange(settle_timer_, std::nullopt));
  Recovered();
}

void Master::Impl::SayUnsettled() const {
  for (const auto& [output, unsettled] : unsettled_) {
    for (const JobHistory::Unsettled& job : unsettled.jobs) {
      LogWarning(
          "The output of an interrupted job does not answer; the master serves without that job",
          {{"job", job.status.job_id()},
           {"state", JobStateWord(job.status.state())},
           {"output", output},
           {"todo", "check the file system of the output; the job goes on once it answers"},
           {"gives_up_after", absl::FormatDuration(limits::kSettleMax)}});
    }
  }
}

void Master::Impl::TakeSettledLate() {
  // Before that, the epoch under which they would go on is on its way to the journal; and the next
  // master settles again what this one has not written down.
  if (life_ != Life::kServing) return;
  std::vector<JobHistory::Waiting> queue;
  for (SettledJob& job : std::exchange(settled_, {})) {
    LogInfo("The output of an interrupted job is settled",
            {{"job", job.status.job_id()}, {"state", JobStateWord(job.status.state())}});
    if (job.again) {
      store_.Update(job.status);
      queue.push_back(*std::move(job.again));
      continue;
    }
    artifacts_.LetGo(job.status.job_id());
    v1::JournalRecord ending = EndingOf(job.status);
    journal_.AppendUntilWritten(
        std::move(ending),
        callbacks_.Guard([this, status = std::move(job.status)](const absl::Status& written) {
          if (!written.ok()) {
            LogWarning("The end of a job is not in the journal yet; tries again until it is",
                       {{"job", status.job_id()}, {"status", written.ToString()}});
          }
          store_.Update(status);
        }));
  }
  QueueAgain(std::move(queue));
  for (const std::string& id : std::exchange(held_back_, {})) {
    const JobRun* run = FindRun(id);
    const absl::StatusOr<const v1::JobStatus*> status = store_.Find(id);
    if (run != nullptr && run->queued() && status.ok()) Enqueue(**status, /*resumed=*/false);
  }
  BeginJobs();
}

bool Master::Impl::IsUnsettled(const v1::JobSpec& spec) const {
  return !unsettled_.empty() && unsettled_.contains(OutputOf(spec));
}

const JobHistory::Unsettled* Master::Impl::FindUnsettled(const std::string& job_id) const {
  for (const auto& [output, unsettled] : unsettled_) {
    const auto it = absl::c_find_if(unsettled.jobs, [&](const JobHistory::Unsettled& job) {
      return job.status.job_id() == job_id;
    });
    if (it != unsettled.jobs.end()) return &*it;
  }
  return nullptr;
}

absl::Status Master::Impl::OutputUnsettled(const v1::JobSpec& spec) const {
  const std::string output = OutputOf(spec);
  return StatusFromJobError(
      absl::StatusCode::kFailedPrecondition,
      MakeJobError(job_error::kOutputUnusable,
                   absl::StrCat("the file system of ", output, " has not said yet whether job ",
                                unsettled_.at(output).jobs.front().status.job_id(),
                                ", which an earlier master had in hand, has published there"),
                   "check that file system and submit the job again, or name another output"));
}

}  // namespace weir::master
