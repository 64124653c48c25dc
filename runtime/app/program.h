#pragma once

// Everything that a weir program does, with the jobs that its main links.
// Upstream: main.cc; programs with jobs of their own. Downstream: commands, daemons, task
// processes.

#include "jobs/api/job_definition.h"

namespace weir::app {

/// Carries out the command line, `task` included, and returns the exit code.
int RunProgram(int argc, char** argv, const JobCatalog& catalog);

}  // namespace weir::app
