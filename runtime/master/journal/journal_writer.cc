#include "runtime/master/journal/journal_writer.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/log.h"

namespace weir::master {

void JournalWriter::Append(v1::JournalRecord record, Done done) {
  std::vector<v1::JournalRecord> records;
  records.push_back(std::move(record));
  AppendTogether(std::move(records), std::move(done));
}

void JournalWriter::AppendTogether(std::vector<v1::JournalRecord> records, Done done) {
  waiting_.emplace_back(std::move(records), std::move(done));
  Next();
}

void JournalWriter::AppendUntilWritten(v1::JournalRecord record, Done done) {
  v1::JournalRecord kept = record;
  Append(std::move(record), [this, kept = std::move(kept),
                             done = std::move(done)](const absl::Status& status) mutable {
    if (!status.ok()) Owe(std::move(kept));
    done(status);
  });
}

void JournalWriter::Owe(v1::JournalRecord record) {
  owed_.push_back(std::move(record));
  if (std::exchange(owed_timer_, true)) return;
  loop_.RunAt(loop_.Now() + kOwedRecordsPause, callbacks_.Guard([this] {
    owed_timer_ = false;
    AppendOwed();
  }));
}

void JournalWriter::AppendOwed() {
  for (v1::JournalRecord& record : std::exchange(owed_, {})) {
    const std::string job = record.job_id();
    AppendUntilWritten(std::move(record), [job](const absl::Status& status) {
      if (status.ok()) LogInfo("The journal has taken what it had not", {{"job", job}});
    });
  }
}

void JournalWriter::AppendUnawaited(v1::JournalRecord record) {
  Append(std::move(record), [](const absl::Status& status) {
    if (!status.ok()) {
      LogWarning("A journal record could not be written", {{"status", status.ToString()}});
    }
  });
}

void JournalWriter::Forget(std::vector<std::string> job_ids) {
  std::erase_if(owed_, [&](const v1::JournalRecord& record) {
    return std::find(job_ids.begin(), job_ids.end(), record.job_id()) != job_ids.end();
  });
  auto status = std::make_shared<absl::Status>();
  other_turns_.push_back(Turn{
      [&journal = journal_, status, ids = std::move(job_ids)] { *status = journal.Forget(ids); },
      [status] {
        if (!status->ok()) {
          LogWarning("Old jobs stay in the journal", {{"status", status->ToString()}});
        }
      }});
  Next();
}

void JournalWriter::ReadJob(
    std::string job_id,
    absl::AnyInvocable<void(absl::StatusOr<std::vector<v1::JournalRecord>>)> done) {
  auto records = std::make_shared<absl::StatusOr<std::vector<v1::JournalRecord>>>();
  other_turns_.push_back(Turn{
      [&journal = journal_, records, id = std::move(job_id)] { *records = journal.ReadJob(id); },
      [records, done = std::move(done)]() mutable { done(std::move(*records)); }});
  Next();
}

void JournalWriter::Next() {
  if (busy_) return;
  if (!waiting_.empty()) {
    auto batch = std::make_shared<std::vector<v1::JournalRecord>>();
    auto dones = std::make_shared<std::vector<Done>>();
    for (auto& [records, done] : waiting_) {
      std::move(records.begin(), records.end(), std::back_inserter(*batch));
      dones->push_back(std::move(done));
    }
    waiting_.clear();
    auto status = std::make_shared<absl::Status>();
    RunTurn(Turn{[&journal = journal_, batch, status] { *status = journal.Append(*batch); },
                 [dones, status] {
                   for (Done& done : *dones) done(*status);
                 }});
  } else if (!other_turns_.empty()) {
    Turn turn = std::move(other_turns_.front());
    other_turns_.erase(other_turns_.begin());
    RunTurn(std::move(turn));
  }
}

void JournalWriter::RunTurn(Turn turn) {
  busy_ = true;
  auto finish = callbacks_.Guard([this](Access& done) {
    busy_ = false;
    done();
    Next();
  });
  env::Offload(
      loop_, disk_pool_,
      [access = std::move(turn.access), done = std::move(turn.done)]() mutable {
        access();
        return std::move(done);
      },
      [finish = std::move(finish)](Access done) mutable { finish(done); });
}

}  // namespace weir::master
