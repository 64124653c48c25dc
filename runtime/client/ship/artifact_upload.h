#pragma once

// Files of this machine that go with a job. Upstream: commands. Downstream: rpc::PutArtifact.

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/client/absence/master_absence.h"
#include "runtime/client/command_host.h"
#include "runtime/client/session.h"
#include "weir/v1/job.pb.h"

namespace weir::client {

/// A file, and what tasks find it by.
struct LocalArtifact {
  std::string path;
  std::string name;
  bool executable = false;
  bool unpack = false;  // an archive
};

/// Sends the files to the master, as far as it does not have them, and adds them to `spec`. A
/// master that goes away meanwhile is waited for as `absence` says; another one says itself what it
/// lacks. Blocking. Errors: kInvalidArgument with INVALID_JOB (no regular file), kResourceExhausted
/// with ARTIFACT_TOO_LARGE, kDataLoss with ARTIFACT_DAMAGED (the file changed meanwhile), those of
/// files and calls. Checked by: tests/unit/client/artifact_upload_test.cc.
absl::Status SendArtifacts(absl::Span<const LocalArtifact> files, Session& session,
                           MasterAbsence& absence, CommandHost& host, v1::JobSpec& spec);

}  // namespace weir::client
