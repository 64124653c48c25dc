#pragma once

// Which files on this worker hold which run, or sections of it, so that those that nobody reads any
// more can go and a chain of layers does not fill the disk. Pure.
// Upstream: WorkerJob, as steps start. Downstream: WorkerJob, which removes them.

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"

namespace weir::worker {

/// The files of one job, by the run that they hold.
/// Checked by: tests/unit/worker/run_files_test.cc.
class RunFiles {
 public:
  /// Remembers a file of a run; once, however often it is named.
  void Add(const std::string& run_id, std::string path);

  /// Returns and forgets the files of a run; none where nothing of it is here.
  std::vector<std::string> Take(const std::string& run_id);

 private:
  absl::btree_map<std::string, absl::btree_set<std::string>> paths_;  // by run
};

}  // namespace weir::worker
