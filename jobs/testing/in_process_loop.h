#pragma once

// Runs a job that is a loop, step by step, within the test: every mapper has a process of its own
// in a cluster, here a program of its own. Upstream: run_job.h. Downstream: JobProgram.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jobs/api/loop.h"
#include "jobs/api/program.h"
#include "jobs/testing/in_process_job.h"

namespace weir::testing {

/// What came of a loop.
struct LoopEnd {
  std::vector<LoopReport> reports;  // by iteration, up to the one that ended it
  std::vector<std::string> parts;
};

/// Iterates until an update says that its state is the last, or for `loop.iterations`.
///
/// Each mapper sends its element to those who update, each of whom sends what it made to all
/// mappers: one, or, where the loop is element-wise and its first element splits, one for each
/// consumer of `cut` (at most one a place), with an equal range of places. `make` makes the program
/// of one mapper. Errors: those of the steps; kInternal where steps count other than they write.
absl::StatusOr<LoopEnd> RunLoopInProcess(
    const LoopInfo& loop, const std::function<absl::StatusOr<std::unique_ptr<JobProgram>>()>& make,
    const JobCut& cut, JobLog& log);

}  // namespace weir::testing
