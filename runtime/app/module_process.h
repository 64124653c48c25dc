#pragma once

// Asks a process of its own about a module, and survives whatever that does. Upstream: commands, by
// CommandHost. Downstream: `weir task --module --fd 3`.

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "weir/v1/module.pb.h"

namespace weir::app {

/// Starts the process, asks, and ends it with all that it started, at the latest after `at_most`;
/// one that does not die when it is killed, as it waits for a disk, is left to itself 2 s later.
/// Blocking. Errors: the module's own answer (MODULE_REFUSED, INVALID_JOB, USER_ERROR);
/// MODULE_CRASHED with how the process ended or that it can answer no more, MODULE_HUNG; both with
/// the last lines that it wrote; a process that cannot be started. Checked by:
/// tests/integration/modules_test.py (-k crashes_or).
absl::StatusOr<v1::ModuleAnswer> AskModule(const v1::ModuleRequest& request,
                                           absl::Duration at_most);

}  // namespace weir::app
