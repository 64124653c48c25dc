#pragma once

// What an earlier master left in the journal. Upstream: Journal. Downstream: Master::Start, which
// serves though the output of some job does not answer (master_settle.cc).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "runtime/env/storage.h"
#include "runtime/master/job/job_lives.h"
#include "runtime/master/journal/journal.h"
#include "runtime/master/resume/journalled_run.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// All remembered jobs, oldest first, and what the next master has to write down.
struct JobHistory {
  struct Waiting {
    std::string job_id;
    std::shared_ptr<const v1::Plan> given_plan;  // null: none was given
    bool resumed = false;                        // an earlier master had begun it
    /// What ran of it then, of a plan that can be gone on with; null: nothing.
    std::shared_ptr<const JournalledRun> run = nullptr;
  };

  /// An earlier master had it in hand; only the file system of its output says whether it has
  /// published, or what has to go.
  struct Unsettled {
    v1::JobStatus status;  // as the journal has it
    JobLives lives;
    /// How it is taken up again where nothing was published; none: it ends then.
    std::optional<Waiting> again;
  };

  std::int64_t last_master_epoch = 0;
  std::vector<v1::JobStatus> jobs;
  /// Jobs that wait for their turn, first in the queue first: those that had begun, then those that
  /// had not, each in the order of their submission.
  std::vector<Waiting> queue;
  /// Those of `jobs` that are neither in the queue nor have ended, oldest first.
  std::vector<Unsettled> unsettled;
  /// What finished jobs taught, oldest first.
  std::vector<v1::JobShapeLearned> shapes;
  /// JobEnded of those that are not taken up again, to be appended.
  std::vector<v1::JournalRecord> endings;
  /// The last calibration, if any.
  std::optional<v1::MeasuredNetwork> network_measured;
};

/// Puts the jobs together from their records. Unfinished ones keep their last state. Pure.
class HistoryReader {
 public:
  void Take(const v1::JournalRecord& record);
  JobHistory Finish();
  /// Of a job that was accepted.
  const JobLives& LivesOf(const std::string& job_id) const { return lives_.at(job_id); }

 private:
  void TakeState(const v1::JournalRecord::JobStateChanged& change, v1::JobStatus& status);

  std::int64_t last_master_epoch_ = 0;
  std::vector<v1::JobShapeLearned> shapes_;
  std::optional<v1::MeasuredNetwork> network_measured_;
  std::vector<std::string> order_;
  absl::btree_map<std::string, v1::JobStatus> jobs_;
  absl::btree_map<std::string, JobLives> lives_;
};

/// The name of the job's output by which jobs of one output are told from others.
std::string OutputOf(const v1::JobSpec& spec);

/// Reads all that the journal says of a start. What had not begun waits for its turn as before.
/// Blocking: on a WorkPool. Errors: as Journal::ReadHistory.
absl::StatusOr<JobHistory> ReadHistory(Journal& journal);

/// The parts that an unfinished job has published. Errors: kNotFound: it has not; else those of the
/// file system.
using PublishedParts = absl::StatusOr<std::vector<v1::OutputPart>>;

/// Says how the output of the job stands, whichever of its lives wrote it, and tidies up: what they
/// staged is gone then, and an old output that was being replaced is back in place. Touches names
/// of this job only, but for an output that is not there: no other job may use that meanwhile.
/// Blocking: on a WorkPool, for as long as the file system does not answer.
PublishedParts SettleOutputs(env::Storage& storage, const JobHistory::Unsettled& job);

struct SettledJob {
  v1::JobStatus status;
  std::optional<JobHistory::Waiting> again;  // none: it has ended
};

/// What becomes of the job, given what SettleOutputs found. Pure, but for the log.
///
/// One whose output was published before the old master died has SUCCEEDED. One that had begun is
/// taken up again from its last plan where that can be edited; the workers that it had lost are
/// known. One that was being ended stays so, for its own reason. FAILED with MASTER_RESTARTED is
/// what limits::kMasterEndsPerJobMax masters did not survive, what had a plan that is not in the
/// journal, and what has an output that cannot be looked at.
/// Checked by: tests/unit/master/job_history_test.cc, tests/sim/master_kills_test.cc (a master
///   killed at every write of its journal).
SettledJob Conclude(const JobHistory::Unsettled& job, PublishedParts published,
                    std::int64_t now_unix_ms);

/// JobEnded of a job that has.
v1::JournalRecord EndingOf(const v1::JobStatus& status);

/// Puts what was settled, in any order, into the history: those taken up again go before the queue.
void TakeSettled(std::vector<SettledJob> settled, JobHistory& history);

}  // namespace weir::master
