#pragma once

// The two ways to a master: over the network, or around a whole cluster in this process.

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"
#include "runtime/client/flags/options.h"
#include "runtime/client/session.h"
#include "runtime/worker/supervise/zygote.h"

namespace weir::app {

// Sessions are closed with their handle, but their threads and connections end with the process: it
// must end by _exit (kept_session.h).

/// Never blocks; an unreachable master shows at the first call. Errors: TLS files.
absl::StatusOr<std::unique_ptr<client::Session>> ConnectToMaster(
    const client::MasterAddress& address);

/// Starts master and workers on one loop, calls in process, runs handed over as files, and waits
/// until all workers are registered. How many these are, where the options do not say, depends on
/// the job. `start_zygote` is called before any thread is made; where it
/// fails, tasks are executed. Errors: work directory, journal.
absl::StatusOr<std::unique_ptr<client::Session>> StartEmbeddedCluster(
    const client::EmbeddedOptions& options, const client::JobOptions& job,
    const JobCatalog& catalog,
    const std::function<absl::StatusOr<std::unique_ptr<worker::Zygote>>()>& start_zygote);

}  // namespace weir::app
