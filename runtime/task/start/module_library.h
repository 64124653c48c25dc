#pragma once

// Loads a module into this process. Upstream: task processes, and the process that answers for a
// module. Downstream: the dynamic loader, the module's entry (jobs/api/module.h).

#include <string>

#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"
#include "weir/v1/steps.pb.h"

namespace weir::task {

/// Loads a shared library and asks it for its jobs. It stays loaded until the process ends.
///
/// Runs user code: static constructors may crash or hang, so only a process that may be lost loads
/// one. Its symbols are its own: two modules, or a module and this program, may have jobs and
/// classes of the same names.
/// Errors: MODULE_REFUSED: what CheckElfHead refuses, libraries or symbols that it misses, no
///   entry, built with another version of the API, no jobs, jobs without a name or two of one name;
///   USER_ERROR where a constructor of a job throws. What the loader refuses is this machine's
///   fault (FAULT_OF_WORKER): another one has loaded it.
/// Checked by: tests/integration/modules_test.py.
absl::StatusOr<JobCatalog> LoadModule(const std::string& path);

/// Loads the module of a task into `module` where it has one, and returns where its job is: there,
/// or in `own`. Ownership: both outlive what their jobs make.
absl::StatusOr<const JobCatalog*> JobsOf(const v1::TaskCommand::Start& start, const JobCatalog& own,
                                         JobCatalog& module);

}  // namespace weir::task
