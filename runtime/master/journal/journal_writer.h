#pragma once

// Puts records into the journal without blocking the control strand. Upstream: Master, JobRun.
// Downstream: Journal on the disk pool.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/env/callback_scope.h"
#include "runtime/env/event_loop.h"
#include "runtime/master/journal/journal.h"

namespace weir::master {

/// Pause between two tries to write what could not be written: a full disk that was freed is soon
/// noticed, and one that stays full is not asked all the time.
inline constexpr absl::Duration kOwedRecordsPause = absl::Seconds(2);

/// Appends records in the order given, one write at a time; records that come meanwhile go together
/// into the next write, and each caller's apart where that fails: one's may be too long, or no
/// text. A journal that does not answer within limits::kJournalPatience stalls: that is said in the
/// log, and to whom OnStall has named; what waits for it waits on, in its order, since nobody can
/// know whether a write that hangs will have been made. Thread-safety: on the loop only. Ownership:
/// the journal outlives the pool's work.
class JournalWriter {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  JournalWriter(env::EventLoop& loop, env::WorkPool& pool, Journal& journal)
      : loop_(loop), pool_(pool), journal_(journal) {}
  ~JournalWriter();

  /// `done` on the loop, once the record is durable or could not be written.
  void Append(v1::JournalRecord record, Done done);
  /// The same for several records: all of them become durable, or none.
  void AppendTogether(std::vector<v1::JournalRecord> records, Done done);
  /// Appends what is true whether it can be written or not, such as the end of a job: `done` on the
  /// loop after the first try, with how that went; the record is kept and tried again, behind
  /// others, until it is written, its job is forgotten, or this ends.
  void AppendUntilWritten(v1::JournalRecord record, Done done);
  /// Appends what may be lost with the last moments before a crash.
  void AppendUnawaited(v1::JournalRecord record);
  /// Drops the records of old jobs, behind what was appended before.
  void Forget(std::vector<std::string> job_ids);
  /// Reads the last record that one job has of each of these kinds, behind what was appended
  /// before.
  void ReadLast(std::string job_id, std::vector<v1::JournalRecord::RecordCase> kinds,
                absl::AnyInvocable<void(absl::StatusOr<std::vector<v1::JournalRecord>>)> done);

  /// Runs `access` on the pool, behind what was appended before, then `done` on the loop.
  void Use(absl::AnyInvocable<void(Journal&)> access, absl::AnyInvocable<void()> done);
  /// `stalled` on the loop, each time that the journal begins to stall.
  void OnStall(absl::AnyInvocable<void()> stalled) { on_stall_ = std::move(stalled); }
  bool stalled() const { return stalled_; }
  /// What stalls and what to do about it, for people.
  std::string StallInWords() const;

 private:
  using Access = absl::AnyInvocable<void()>;  // on the pool
  struct Turn {
    Access access;
    Access done;          // on the loop
    bool waited = false;  // all that was appended before it has been written since
  };

  void RunTurn(Turn turn);
  void Next();
  void WriteWaiting();
  void Owe(v1::JournalRecord record);
  void AppendOwed();
  void Stall();
  void Answered();

  env::EventLoop& loop_;
  env::WorkPool& pool_;
  Journal& journal_;
  std::vector<std::pair<std::vector<v1::JournalRecord>, Done>> waiting_;
  std::vector<Turn> other_turns_;  // oldest first
  bool busy_ = false;
  bool stalled_ = false;  // the turn under way takes too long
  MonoTime turn_began_;
  std::optional<env::EventLoop::TimerId> stall_timer_;
  absl::AnyInvocable<void()> on_stall_;  // may be null
  std::vector<v1::JournalRecord> owed_;  // could not be written yet, oldest first
  bool owed_timer_ = false;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
