#pragma once

#include "absl/status/status.h"
#include "jobs/api/job_definition.h"
#include "runtime/client/flags/options.h"

namespace weir::app {

/// Says on stderr why `weir DAEMON` cannot start, in a sentence, whatever its log format is.
/// Returns the exit code, which is never that of a master out of reach: none was asked yet.
int CannotStart(const char* daemon, const absl::Status& status);

/// Serve until SIGTERM or Ctrl-C; return the exit code.
int RunMasterDaemon(const client::MasterDaemonOptions& options, const JobCatalog& catalog);
int RunWorkerDaemon(const client::WorkerDaemonOptions& options);

/// `weir task ...`: words after "task". Return the exit code.
int RunTaskProcess(int num_words, char** words, const JobCatalog& catalog);

}  // namespace weir::app
