#pragma once

// Whose fault it is that a task cannot start. Upstream: shipped_files, task. Downstream: the master
// (StepBlame), by JobError.fault_of.

#include <string_view>

#include "absl/status/status.h"

namespace weir::task {

/// Returns what the system said of this worker's own files and limits as a fault of the worker,
/// another of which may have none of it; all else as it is. `what`: what cannot be done, for the
/// message. Pure. Checked by: tests/unit/task/shipped_files_test.cc, task_test.cc.
absl::Status OfWorker(const absl::Status& status, std::string_view what);

}  // namespace weir::task
