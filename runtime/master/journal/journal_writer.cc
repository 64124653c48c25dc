#include "runtime/master/journal/journal_writer.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"

namespace weir::master {

JournalWriter::~JournalWriter() {
  if (stall_timer_) loop_.CancelTimer(*stall_timer_);
}

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

void JournalWriter::ReadLast(
    std::string job_id, std::vector<v1::JournalRecord::RecordCase> kinds,
    absl::AnyInvocable<void(absl::StatusOr<std::vector<v1::JournalRecord>>)> done) {
  auto records = std::make_shared<absl::StatusOr<std::vector<v1::JournalRecord>>>();
  other_turns_.push_back(
      Turn{[&journal = journal_, records, id = std::move(job_id), kinds = std::move(kinds)] {
             *records = journal.ReadLast(id, kinds);
           },
           [records, done = std::move(done)]() mutable { done(std::move(*records)); }});
  Next();
}

void JournalWriter::Use(absl::AnyInvocable<void(Journal&)> access,
                        absl::AnyInvocable<void()> done) {
  other_turns_.push_back(
      Turn{[&journal = journal_, access = std::move(access)]() mutable { access(journal); },
           std::move(done)});
  Next();
}

std::string JournalWriter::StallInWords() const {
  return absl::StrCat("the journal ", journal_.Place(), " has not answered for ",
                      absl::FormatDuration(loop_.Now() - turn_began_),
                      "; look at the disk of the master that it is on");
}

void JournalWriter::Stall() {
  stall_timer_.reset();
  stalled_ = true;
  LogWarning("The journal does not answer; no job is accepted, and none goes on to its next state",
             {{"journal", journal_.Place()},
              {"for", absl::FormatDuration(loop_.Now() - turn_began_)},
              {"todo",
               "look at the disk that it is on (kernel log, mount); what waits goes on once it "
               "answers"}});
  if (on_stall_) on_stall_();
}

void JournalWriter::Answered() {
  if (stall_timer_) loop_.CancelTimer(*stall_timer_);
  stall_timer_.reset();
  if (!std::exchange(stalled_, false)) return;
  LogInfo(
      "The journal answers again",
      {{"journal", journal_.Place()}, {"after", absl::FormatDuration(loop_.Now() - turn_began_)}});
}

void JournalWriter::Next() {
  if (busy_) return;
  // Without a turn of their own among writes that never end, they would never come.
  const bool others_turn =
      !other_turns_.empty() && (waiting_.empty() || other_turns_.front().waited);
  if (!others_turn) {
    if (!waiting_.empty()) WriteWaiting();
    return;
  }
  Turn turn = std::move(other_turns_.front());
  other_turns_.erase(other_turns_.begin());
  RunTurn(std::move(turn));
}

void JournalWriter::WriteWaiting() {
  for (Turn& turn : other_turns_) turn.waited = true;
  struct Batch {
    std::vector<v1::JournalRecord> records;
    std::vector<std::size_t> ends;  // by caller
    std::vector<Done> dones;
    std::vector<absl::Status> statuses;
  };
  auto batch = std::make_shared<Batch>();
  for (auto& [records, done] : waiting_) {
    std::move(records.begin(), records.end(), std::back_inserter(batch->records));
    batch->ends.push_back(batch->records.size());
    batch->dones.push_back(std::move(done));
  }
  waiting_.clear();
  RunTurn(Turn{[&journal = journal_, batch] {
                 const absl::Span<const v1::JournalRecord> all = batch->records;
                 batch->statuses.assign(batch->ends.size(), journal.Append(all));
                 if (batch->statuses[0].ok() || batch->ends.size() == 1) return;
                 std::size_t begin = 0;
                 for (std::size_t i = 0; i < batch->ends.size(); ++i) {
                   batch->statuses[i] = journal.Append(all.subspan(begin, batch->ends[i] - begin));
                   begin = batch->ends[i];
                 }
               },
               [batch] {
                 for (std::size_t i = 0; i < batch->dones.size(); ++i) {
                   batch->dones[i](std::move(batch->statuses[i]));
                 }
               }});
}

void JournalWriter::RunTurn(Turn turn) {
  busy_ = true;
  turn_began_ = loop_.Now();
  stall_timer_ =
      loop_.RunAt(turn_began_ + limits::kJournalPatience, callbacks_.Guard([this] { Stall(); }));
  auto finish = callbacks_.Guard([this](Access& done) {
    busy_ = false;
    Answered();
    done();
    Next();
  });
  env::Offload(
      loop_, pool_,
      [access = std::move(turn.access), done = std::move(turn.done)]() mutable {
        access();
        return std::move(done);
      },
      [finish = std::move(finish)](Access done) mutable { finish(done); });
}

}  // namespace weir::master
