#pragma once

// Files of a step beside its run: what its memory does not hold. Upstream: the engine, through
// StepContext. Downstream: runtime/format.

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "runtime/task/step_activity.h"

namespace weir::task {

/// Makes the files of one step. Each is removed when its object goes; those of a process that is
/// killed, by its daemon, or, where that is killed too or the process lived on, when the job's next
/// task starts there (RemoveSpills), or with the job's directory.
///
/// Thread-safety: any thread.
/// Errors: those of RunWriter and RunReader. A damaged file is the fault of this worker's disk, not
///   of a run.
/// Checked by: tests/unit/task/spill_files_test.cc.
class SpillFiles {
 public:
  /// Files get this path and a number.
  SpillFiles(std::string path, StepActivity& activity)
      : path_(std::move(path)), activity_(activity) {}

  absl::StatusOr<std::unique_ptr<SpillFile>> New();

 private:
  const std::string path_;
  StepActivity& activity_;
  std::atomic<int> next_ = 0;
};

/// Removes the files of steps that lie in a task's directory, of a process that was killed: its
/// steps may go on elsewhere, and nobody would make files of their names here. What cannot be
/// removed stays until the job goes. Blocking; before the first step.
/// Checked by: tests/unit/task/spill_files_test.cc.
void RemoveSpills(const std::string& folder);

}  // namespace weir::task
