#pragma once

#include "jobs/api/job_definition.h"
#include "runtime/client/flags/options.h"

namespace weir::app {

/// Serve until SIGTERM or Ctrl-C; return the exit code.
int RunMasterDaemon(const client::MasterDaemonOptions& options, const JobCatalog& catalog);
int RunWorkerDaemon(const client::WorkerDaemonOptions& options);

/// `weir task ...`: words after "task". Return the exit code.
int RunTaskProcess(int num_words, char** words, const JobCatalog& catalog);

}  // namespace weir::app
