#pragma once

// The task process: user code, and nothing else of a job. Upstream: the worker daemon, over a
// socketpair. Downstream: step_runner.h. It reads and writes local files and never the network.

#include <ostream>
#include <string>

#include "jobs/api/job_definition.h"
#include "runtime/task/task_environment.h"

namespace weir::task {

/// Serves TaskCommands that come over `fd` (runtime/base/task_frame.h) until Stop or the end of the
/// stream, and returns the exit code of the process: 0, or 1 when the task could not start or the
/// daemon sent what is not a command.
///
/// Steps run one at a time; progress goes out every limits::kTaskProgress while one runs.
/// Failure semantics: when the daemon dies while a step runs, the process exits at once (code
///   kExitOrphaned), because nobody waits for the step and user code cannot be made to return.
/// Checked by: tests/unit/task/task_test.cc.
int RunTask(int fd, const JobCatalog& catalog, const TaskEnvironment& environment);

inline constexpr int kExitOrphaned = 3;

/// Runs the step of a "<step>.<attempt>.spec.json" (v1::TaskSpec) once more, by hand, in this
/// process. What it writes goes beside the spec as "<step>.<attempt>.rerun", never over the run or
/// part of the job. Prints the StepResult as JSON on `out`; returns 0, or 1 when the step failed,
/// or 2 when the spec could not be read, saying why on `err`.
int RunTaskSpec(const std::string& spec_path, const JobCatalog& catalog,
                const TaskEnvironment& environment, std::ostream& out, std::ostream& err);

}  // namespace weir::task
