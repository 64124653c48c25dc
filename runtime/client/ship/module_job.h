#pragma once

// A job that lies in a module: what the module says of it, and the way of its file to the workers.
// Upstream: commands that take --module. Downstream: the process that answers for it
// (CommandHost::ask_module), artifacts.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/client/absence/master_absence.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"
#include "runtime/client/session.h"
#include "weir/v1/job.pb.h"

namespace weir::client {

/// A module whose job was asked for, as it was then.
struct ModuleJob {
  std::string path;  // absolute; empty: the job is none of a module
  v1::JobModule module;
};

/// Asks the module of `job`, if it has one, about the job with these parameters. Blocking.
/// Errors: INVALID_JOB, ARTIFACT_TOO_LARGE, MODULE_REFUSED, MODULE_CRASHED, MODULE_HUNG, those of
/// the file.
absl::StatusOr<ModuleJob> AskModuleJob(const JobOptions& job, CommandHost& host);

/// Sends the module to the master and names it in `spec`; nothing for a job without one.
/// Errors: as SendArtifacts; kFailedPrecondition when the file is no longer what was asked.
absl::Status AddModule(const ModuleJob& job, Session& session, MasterAbsence& absence,
                       CommandHost& host, v1::JobSpec& spec);

/// What the module shows of a finished job. Errors: as AskModuleJob; kFailedPrecondition as
/// AddModule.
absl::StatusOr<std::string> PresentByModule(const ModuleJob& job, const JobOptions& options,
                                            const std::vector<std::string>& part_paths,
                                            CommandHost& host);

/// The jobs of a module with their defaults.
absl::StatusOr<std::vector<v1::JobDescription>> JobsOfModule(const std::string& path,
                                                             CommandHost& host);

}  // namespace weir::client
