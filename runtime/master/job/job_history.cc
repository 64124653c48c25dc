#include "runtime/master/job/job_history.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/job_state_words.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/job/job_machine.h"
#include "runtime/master/output/staged_output.h"

namespace weir::master {

void HistoryReader::Take(const v1::JournalRecord& record) {
  if (record.has_master_started()) {
    last_master_epoch_ = std::max(last_master_epoch_, record.master_started().master_epoch());
    return;
  }
  if (record.has_master_stopped()) {
    for (auto& [id, lives] : lives_) lives.LetGoBy(last_master_epoch_);
    return;
  }
  if (record.has_job_shape_learned()) {
    shapes_.push_back(record.job_shape_learned());
    return;
  }
  if (record.has_network_measured()) {
    network_measured_ = record.network_measured();
    return;
  }
  if (record.has_job_accepted()) {
    v1::JobStatus status;
    status.set_job_id(record.job_id());
    *status.mutable_spec() = record.job_accepted().spec();
    status.set_state(v1::JOB_STATE_QUEUED);
    status.set_submitted_unix_ms(record.job_accepted().unix_ms());
    if (const std::int64_t bytes = record.job_accepted().input_bytes(); bytes > 0) {
      status.mutable_progress()->set_input_bytes_total(bytes);
    }
    if (jobs_.emplace(record.job_id(), std::move(status)).second) {
      lives_[record.job_id()];
      order_.push_back(record.job_id());
    }
    return;
  }
  const auto it = jobs_.find(record.job_id());
  // A job whose acceptance was dropped with the old jobs.
  if (it == jobs_.end()) return;
  if (record.has_job_state_changed()) {
    TakeState(record.job_state_changed(), it->second);
  } else if (record.has_job_ended()) {
    it->second = record.job_ended().status();
  }
}

void HistoryReader::TakeState(const v1::JournalRecord::JobStateChanged& change,
                              v1::JobStatus& status) {
  status.set_state(change.state());
  status.set_plan_id(change.plan_id());
  *status.mutable_error() = change.error();
  lives_[status.job_id()].BegunBy(last_master_epoch_);
}

JobHistory HistoryReader::Finish() {
  JobHistory history;
  history.last_master_epoch = last_master_epoch_;
  history.shapes = std::move(shapes_);
  history.network_measured = std::move(network_measured_);
  for (const std::string& id : order_) history.jobs.push_back(std::move(jobs_[id]));
  return history;
}

namespace {

bool WasEnding(const v1::JobStatus& status) {
  return status.state() == v1::JOB_STATE_ENDING || !status.error().code().empty();
}

/// Why a job that had begun is not taken up again.
v1::JobError EndOfLives(const v1::JobStatus& status, const JobLives& lives,
                        const absl::Status& output) {
  if (!absl::IsNotFound(output)) {
    const OutputPlaces places(status.spec().output(), status.job_id());
    LogWarning("The output of an interrupted job cannot be settled",
               {{"job", status.job_id()}, {"status", output.ToString()}});
    return MakeJobError(
        job_error::kMasterRestarted,
        absl::StrCat("the master was restarted while the job was ", JobStateInWords(status.state()),
                     ", and what it had staged cannot be looked at: ", output.message()),
        absl::StrCat("see whether ", places.output,
                     " is there and of this job; if not, remove what ", "begins with ",
                     places.staging, ", then submit the job again"));
  }
  if (lives.cut_short() >= limits::kMasterEndsPerJobMax) {
    return MakeJobError(
        job_error::kMasterRestarted,
        absl::StrCat(lives.cut_short(),
                     " masters ended without a word while the job was under "
                     "way, at last when it was ",
                     JobStateInWords(status.state())),
        "see in the master's log and the machine's why; if it was not the job, submit it again");
  }
  return MakeJobError(
      job_error::kMasterRestarted,
      absl::StrCat("the master was restarted while the job was ", JobStateInWords(status.state()),
                   ", and the journal does not have the plan that was given with it"),
      "submit the job again");
}

void End(std::int64_t now_unix_ms, v1::JobState state, v1::JobStatus& status) {
  status.set_state(state);
  status.set_ended_unix_ms(now_unix_ms);
}

/// The plan that was handed in with the job. Errors: kNotFound.
absl::StatusOr<v1::Plan> ReadGivenPlan(Journal& journal, const std::string& job_id) {
  absl::StatusOr<std::vector<v1::JournalRecord>> records =
      journal.ReadLast(job_id, {v1::JournalRecord::kJobPlanGiven});
  if (!records.ok()) return records.status();
  if (!records->empty()) {
    return std::move(*records->front().mutable_job_plan_given()->mutable_plan());
  }
  return absl::NotFoundError("the journal does not have the plan that was given with the job");
}

/// What the last plan of a job knew of lost workers; a start reads no plans else, and few jobs had
/// begun.
void ReadLosses(Journal& journal, v1::JobStatus& status) {
  absl::StatusOr<std::vector<v1::JournalRecord>> records =
      journal.ReadLast(status.job_id(), {v1::JournalRecord::kJobPlanned});
  if (!records.ok()) {
    return LogWarning("Which workers a job had lost cannot be read",
                      {{"job", status.job_id()}, {"status", records.status().ToString()}});
  }
  for (v1::JournalRecord& record : *records) {
    *status.mutable_losses() = std::move(*record.mutable_job_planned()->mutable_losses());
  }
}

/// What the last plan of a job did; null where there is nothing to go on with.
std::shared_ptr<const JournalledRun> ReadLastRun(Journal& journal, const std::string& job_id) {
  absl::StatusOr<std::vector<v1::JournalRecord>> records = journal.ReadJob(job_id);
  if (!records.ok()) return nullptr;  // said where losses were read
  std::optional<JournalledRun> run = LastRun(*records);
  return run ? std::make_shared<const JournalledRun>(*std::move(run)) : nullptr;
}

/// How a job waits that is queued again. Errors: the plan that it was given cannot be read.
absl::StatusOr<JobHistory::Waiting> QueueAgain(Journal& journal, const v1::JobStatus& status,
                                               bool resumed) {
  JobHistory::Waiting waiting{status.job_id(), nullptr, resumed};
  if (status.spec().has_plan()) {
    absl::StatusOr<v1::Plan> plan = ReadGivenPlan(journal, status.job_id());
    if (!plan.ok()) {
      LogWarning("A job cannot be queued again",
                 {{"job", status.job_id()}, {"status", plan.status().ToString()}});
      return plan.status();
    }
    waiting.given_plan = std::make_shared<const v1::Plan>(*std::move(plan));
  } else if (resumed) {
    waiting.run = ReadLastRun(journal, status.job_id());
  }
  return waiting;
}

/// Has one unfinished job wait, for its turn or for its output.
void Sort(Journal& journal, const JobLives& lives, v1::JobStatus& status, JobHistory& history) {
  const bool waited = status.state() == v1::JOB_STATE_QUEUED && !WasEnding(status);
  if (waited) {
    if (auto waiting = QueueAgain(journal, status, /*resumed=*/false); waiting.ok()) {
      return history.queue.push_back(*std::move(waiting));
    }
  }
  ReadLosses(journal, status);
  JobHistory::Unsettled& unsettled = history.unsettled.emplace_back();
  unsettled.status = status;
  unsettled.lives = lives;
  // All that the journal has to say is read here: it serves writers later.
  if (waited || WasEnding(status) || lives.cut_short() >= limits::kMasterEndsPerJobMax) return;
  if (auto again = QueueAgain(journal, status, /*resumed=*/true); again.ok()) {
    unsettled.again = *std::move(again);
  }
}

}  // namespace

std::string OutputOf(const v1::JobSpec& spec) { return OutputPlaces(spec.output(), "").output; }

absl::StatusOr<JobHistory> ReadHistory(Journal& journal) {
  HistoryReader reader;
  absl::Status read =
      journal.ReadHistory([&](const v1::JournalRecord& record) { reader.Take(record); });
  if (!read.ok()) return read;
  JobHistory history = reader.Finish();
  for (v1::JobStatus& status : history.jobs) {
    if (IsTerminal(status.state())) continue;
    Sort(journal, reader.LivesOf(status.job_id()), status, history);
  }
  return history;
}

PublishedParts SettleOutputs(env::Storage& storage, const JobHistory::Unsettled& job) {
  PublishedParts settled = absl::NotFoundError("");
  std::vector<std::int64_t> names = job.lives.epochs();
  names.insert(names.begin(), 0);
  const v1::JobStatus& status = job.status;
  for (const std::int64_t life : names) {
    PublishedParts of_life = SettleOutput(
        storage, OutputPlaces(status.spec().output(), status.job_id(), life), status.job_id());
    const bool tells = !settled.ok() && !absl::IsNotFound(of_life.status());
    if (of_life.ok() || tells) settled = std::move(of_life);
  }
  return settled;
}

SettledJob Conclude(const JobHistory::Unsettled& job, PublishedParts published,
                    std::int64_t now_unix_ms) {
  SettledJob settled{job.status, std::nullopt};
  v1::JobStatus& status = settled.status;
  if (published.ok()) {
    End(now_unix_ms, v1::JOB_STATE_SUCCEEDED, status);
    status.clear_error();
    for (v1::OutputPart& part : *published) *status.add_parts() = std::move(part);
  } else if (WasEnding(status)) {
    // For its own reason.
    const bool cancelled = status.error().code() == job_error::kCancelled;
    End(now_unix_ms, cancelled ? v1::JOB_STATE_CANCELLED : v1::JOB_STATE_FAILED, status);
  } else if (absl::IsNotFound(published.status()) && job.again) {
    settled.again = job.again;
    status.set_state(v1::JOB_STATE_QUEUED);
    status.clear_plan_id();
    status.clear_error();
  } else {
    *status.mutable_error() = EndOfLives(status, job.lives, published.status());
    End(now_unix_ms, v1::JOB_STATE_FAILED, status);
  }
  return settled;
}

v1::JournalRecord EndingOf(const v1::JobStatus& status) {
  v1::JournalRecord record;
  record.set_job_id(status.job_id());
  *record.mutable_job_ended()->mutable_status() = status;
  return record;
}

void TakeSettled(std::vector<SettledJob> settled, JobHistory& history) {
  absl::btree_map<std::string, SettledJob> by_id;
  for (SettledJob& job : settled) {
    std::string id = job.status.job_id();
    by_id.emplace(std::move(id), std::move(job));
  }
  std::vector<JobHistory::Waiting> queue;
  for (v1::JobStatus& status : history.jobs) {
    const auto it = by_id.find(status.job_id());
    if (it == by_id.end()) continue;
    status = std::move(it->second.status);
    if (it->second.again) {
      queue.push_back(*std::move(it->second.again));
    } else {
      history.endings.push_back(EndingOf(status));
    }
  }
  std::move(history.queue.begin(), history.queue.end(), std::back_inserter(queue));
  history.queue = std::move(queue);
}

}  // namespace weir::master
