#pragma once

// What follows where a run is found damaged. Pure. Upstream: JobRun. Downstream: JobRun edits the
// plan, or lays it at the worker that made the run.

#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "runtime/master/conduct/plan_progress.h"

namespace weir::master {

/// Lays damage at the disk where it is, by trying what costs least first.
///
/// - What a reader has received, and what was whole then, may have been damaged on its own disk: it
///   is fetched once more, once for each reader and run.
/// - Else the run is damaged where it was made: the step that made it is done again, there or
///   elsewhere.
/// - Where a worker's run of the same step is damaged again, or limits::kDamagedRunsMax runs of one
///   worker were, its disk is to blame.
///
/// Thread-safety: none. Time: none. Steps are those of one plan and its edits: another plan begins
///   with another RunBlame.
/// Checked by: tests/unit/master/run_blame_test.cc, worker_faults_test.cc, tests/sim.
class RunBlame {
 public:
  enum class Cure { kFetchAgain, kMakeAgain, kLeaveOutMaker };

  /// `received`: by the reader, over the network, whole.
  Cure Damaged(const RunName& run, const std::string& maker, planner::StepIndex reader,
               bool received);

 private:
  absl::btree_set<std::pair<RunName, planner::StepIndex>> fetched_again_;
  absl::btree_set<RunName> made_again_;
  absl::btree_set<std::pair<std::string, planner::StepIndex>> damaged_;  // by maker
  absl::btree_map<std::string, int> num_damaged_;                        // by maker
};

}  // namespace weir::master
