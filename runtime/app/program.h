#pragma once

// Everything that a weir program does, with the jobs that its main links.
// Upstream: main.cc; programs with jobs of their own. Downstream: commands, daemons, task
// processes.

#include "jobs/api/job_definition.h"

namespace weir::app {

/// Carries out the command line, `task` included. Daemons and tasks return the exit code, commands
/// of users end the process with it (kept_session.h).
int RunProgram(int argc, char** argv, const JobCatalog& catalog);

}  // namespace weir::app
