#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"
#include "runtime/client/flags/options.h"
#include "runtime/worker/supervise/zygote.h"

namespace weir::app {

/// Says on stderr why `weir DAEMON` cannot start, in a sentence, whatever its log format is.
/// Returns the exit code, which is never that of a master out of reach: none was asked yet.
int CannotStart(const char* daemon, const absl::Status& status);

/// Serve until SIGTERM or Ctrl-C; return the exit code.
int RunMasterDaemon(const client::MasterDaemonOptions& options, const JobCatalog& catalog);
/// `zygote`: forks the tasks; why there is none is logged, and they are executed.
int RunWorkerDaemon(const client::WorkerDaemonOptions& options,
                    absl::StatusOr<std::unique_ptr<worker::Zygote>> zygote);

/// `weir task ...`: words after "task". Return the exit code.
int RunTaskProcess(int num_words, char** words, const JobCatalog& catalog);
/// The same for a task that was forked: of `weir task --fd 3`.
int RunForkedTask(const JobCatalog& catalog);

}  // namespace weir::app
