#pragma once

// The files that the user gives along with a job. Upstream: commands that take --file and
// --archive. Downstream: artifact_upload.h.

#include "absl/status/status.h"
#include "runtime/client/absence/master_absence.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"
#include "runtime/client/session.h"
#include "weir/v1/job.pb.h"

namespace weir::client {

/// Checks what can be told before anything is started. Errors: kNotFound and others of files;
/// kInvalidArgument with INVALID_JOB for what is no regular file, and for two files of one name.
/// Checked by: tests/integration/streaming_test.py.
absl::Status CheckShippedFiles(const JobOptions& job, CommandHost& host);

/// Sends them to the master and names them in `spec`. Errors: as SendArtifacts.
absl::Status AddShippedFiles(const JobOptions& job, Session& session, MasterAbsence& absence,
                             CommandHost& host, v1::JobSpec& spec);

}  // namespace weir::client
