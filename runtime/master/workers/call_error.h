#pragma once

// What a failed call to a worker means for the job. Pure. Upstream: ConductorRun, JobRun.

#include <string>

#include "absl/status/status.h"
#include "runtime/master/workers/worker_table.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

/// Names who did not do what: a worker that does not answer is WORKER_UNREACHABLE, which is its own
/// fault: it keeps its lease, so the master hears it, and others answer. One that refuses because
/// it has another epoch or forgot the job is WORKER_LOST; an error that the worker named itself
/// stays. Any other refusal, as of an order that it cannot read, is INTERNAL and its own fault as
/// well: others may read theirs. `what`: "map 3", "the preparation of the job".
/// Checked by: tests/unit/master/call_error_test.cc.
v1::JobError ErrorOfCall(const RegisteredWorker& worker, const std::string& what,
                         const absl::Status& status);

/// Whether a failed call may mean no more than that the worker is gone, or came back as another:
/// then its lease says so soon. False for errors that the worker named itself.
bool LeaseMayTell(const absl::Status& status);

}  // namespace weir::master
