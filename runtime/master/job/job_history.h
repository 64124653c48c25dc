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
#include "runtime/master/journal/journal.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// All remembered jobs, oldest first, and what the next master has to write down.
struct JobHistory {
  struct Waiting {
    std::string job_id;
    std::shared_ptr<const v1::Plan> given_plan;  // null: none was given
  };

  std::int64_t last_master_epoch = 0;
  std::vector<v1::JobStatus> jobs;
  /// Jobs that wait for their turn still, first in the queue first.
  std::vector<Waiting> queue;
  /// What finished jobs taught, oldest first.
  std::vector<v1::JobShapeLearned> shapes;
  /// JobEnded of those that had begun and not ended, to be appended.
  std::vector<v1::JournalRecord> endings;
  /// The last calibration, if any.
  std::optional<v1::MeasuredNetwork> network_measured;
};

/// Puts the jobs together from their records. Unfinished ones keep their last state. Pure.
class HistoryReader {
 public:
  void Take(const v1::JournalRecord& record);
  JobHistory Finish();

 private:
  std::int64_t last_master_epoch_ = 0;
  std::vector<v1::JobShapeLearned> shapes_;
  std::optional<v1::MeasuredNetwork> network_measured_;
  std::vector<std::string> order_;
  absl::btree_map<std::string, v1::JobStatus> jobs_;
};

/// Reads the journal and settles unfinished jobs: one that had not begun waits for its turn as
/// before; one whose output was published before the old master died has SUCCEEDED; every other one
/// is FAILED with MASTER_RESTARTED, its staging directory gone and an old output that was being
/// replaced back in place. What was being planned is among these: were it queued again, a job whose
/// planning ends the master would end every later one too. Blocking: on a WorkPool.
/// Errors: as Journal::ReadHistory. Checked by: tests/unit/master/job_history_test.cc, tests/sim
/// (master restarts).
absl::StatusOr<JobHistory> SettleHistory(Journal& journal, env::Storage& storage,
                                         std::int64_t now_unix_ms);

}  // namespace weir::master
