#include "runtime/master/job/job_history.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/log.h"
#include "runtime/master/job/job_machine.h"
#include "runtime/master/output/staged_output.h"

namespace weir::master {

void HistoryReader::Take(const v1::JournalRecord& record) {
  if (record.has_master_started()) {
    last_master_epoch_ = std::max(last_master_epoch_, record.master_started().master_epoch());
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
    if (jobs_.emplace(record.job_id(), std::move(status)).second) {
      order_.push_back(record.job_id());
    }
    return;
  }
  const auto it = jobs_.find(record.job_id());
  // A job whose acceptance was dropped with the old jobs.
  if (it == jobs_.end()) return;
  if (record.has_job_state_changed()) {
    const v1::JournalRecord::JobStateChanged& change = record.job_state_changed();
    it->second.set_state(change.state());
    it->second.set_plan_id(change.plan_id());
    *it->second.mutable_error() = change.error();
  } else if (record.has_job_ended()) {
    it->second = record.job_ended().status();
  }
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

void Settle(env::Storage& storage, std::int64_t now_unix_ms, v1::JobStatus& status) {
  const OutputPlaces places(status.spec().output(), status.job_id());
  absl::StatusOr<std::vector<v1::OutputPart>> parts =
      SettleOutput(storage, places, status.job_id());
  status.set_ended_unix_ms(now_unix_ms);
  if (parts.ok()) {
    status.set_state(v1::JOB_STATE_SUCCEEDED);
    status.clear_error();
    for (v1::OutputPart& part : *parts) *status.add_parts() = std::move(part);
    return;
  }
  v1::JobError error = MakeJobError(
      job_error::kMasterRestarted,
      absl::StrCat("the master was restarted while the job was ", JobStateWord(status.state())),
      "submit the job again");
  if (!absl::IsNotFound(parts.status())) {
    LogWarning("The output of an interrupted job cannot be settled",
               {{"job", status.job_id()}, {"status", parts.status().ToString()}});
    error.set_advice(absl::StrCat("remove ", places.staging, ", then submit the job again"));
  }
  // A job that was already ending keeps its own reason.
  if (!status.has_error() || status.error().code().empty()) *status.mutable_error() = error;
  status.set_state(v1::JOB_STATE_FAILED);
}

/// The plan that was handed in with the job. Errors: kNotFound.
absl::StatusOr<v1::Plan> ReadGivenPlan(Journal& journal, const std::string& job_id) {
  absl::StatusOr<std::vector<v1::JournalRecord>> records = journal.ReadJob(job_id);
  if (!records.ok()) return records.status();
  for (v1::JournalRecord& record : *records) {
    if (record.has_job_plan_given())
      return std::move(*record.mutable_job_plan_given()->mutable_plan());
  }
  return absl::NotFoundError("the journal does not have the plan that was given with the job");
}

/// Puts a job that had not begun into the queue. Errors: its plan cannot be read.
absl::Status Queue(Journal& journal, const v1::JobStatus& status,
                   std::vector<JobHistory::Waiting>& queue) {
  JobHistory::Waiting waiting{status.job_id(), nullptr};
  if (status.spec().has_plan()) {
    absl::StatusOr<v1::Plan> plan = ReadGivenPlan(journal, status.job_id());
    if (!plan.ok()) return plan.status();
    waiting.given_plan = std::make_shared<const v1::Plan>(*std::move(plan));
  }
  queue.push_back(std::move(waiting));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JobHistory> SettleHistory(Journal& journal, env::Storage& storage,
                                         std::int64_t now_unix_ms) {
  HistoryReader reader;
  absl::Status read =
      journal.ReadHistory([&](const v1::JournalRecord& record) { reader.Take(record); });
  if (!read.ok()) return read;
  JobHistory history = reader.Finish();
  for (v1::JobStatus& status : history.jobs) {
    if (IsTerminal(status.state())) continue;
    if (status.state() == v1::JOB_STATE_QUEUED) {
      absl::Status queued = Queue(journal, status, history.queue);
      if (queued.ok()) continue;
      LogWarning("A job cannot be queued again",
                 {{"job", status.job_id()}, {"status", queued.ToString()}});
    }
    Settle(storage, now_unix_ms, status);
    v1::JournalRecord& record = history.endings.emplace_back();
    record.set_job_id(status.job_id());
    *record.mutable_job_ended()->mutable_status() = status;
  }
  return history;
}

}  // namespace weir::master
