#pragma once

// What an earlier master left in the journal. Upstream: Journal. Downstream: Master::Start.

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
#include "runtime/master/resume/settling_job.h"
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

  std::int64_t last_master_epoch = 0;
  std::vector<v1::JobStatus> jobs;
  /// Jobs that wait for their turn, first in the queue first: those that had begun, then those that
  /// had not, each in the order of their submission.
  std::vector<Waiting> queue;
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

/// Reads the journal and settles unfinished jobs.
///
/// One that had not begun waits for its turn as before. One whose output was published before the
/// old master died has SUCCEEDED. One that had begun is taken up again, before those that had not,
/// from its last plan where that can be edited; what it staged is gone, an old output that was
/// being replaced is back in place, and the workers that it had lost are known. One that was being
/// ended stays so, for its own reason. FAILED with MASTER_RESTARTED is what
/// limits::kMasterEndsPerJobMax masters did not survive, what had a plan that is not in the
/// journal, and what has an output that cannot be looked at. Blocking: on a WorkPool. Errors: as
/// Journal::ReadHistory. Checked by: tests/unit/master/job_history_test.cc,
/// tests/sim/master_kills_test.cc (a master
///   killed at every write of its journal).
/// `settling` names the job whose output is looked at, which takes as long as its file system
/// does.
absl::StatusOr<JobHistory> SettleHistory(Journal& journal, env::Storage& storage,
                                         std::int64_t now_unix_ms, SettlingJob& settling);

}  // namespace weir::master
