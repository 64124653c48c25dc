#include "runtime/client/ship/module_job.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/artifacts/artifact_files.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/ship/artifact_upload.h"

namespace weir::client {
namespace {

absl::Status Refused(const std::string& what, const std::string& advice) {
  return StatusFromJobError(absl::StatusCode::kInvalidArgument,
                            MakeJobError(job_error::kModuleRefused, what, advice));
}

absl::StatusOr<ArtifactContent> ContentOf(const std::string& path, CommandHost& host) {
  // It is told to the process that loads the module, and its name to workers, as text.
  if (ValidUtf8(path) != path) {
    return Refused(absl::StrCat("the path of the module is not UTF-8: ", path),
                   "rename what is not, or copy the module elsewhere");
  }
  const auto found = host.storage.Stat(path);
  if (!found.ok()) return FlagFileError("--module", found.status());
  if (!found->is_regular) {
    return Refused(absl::StrCat("module ", path, " is no regular file"),
                   "name the .so file that weir_add_job makes");
  }
  return HashFile(host.storage, path, limits::kArtifactBytesMax);
}

absl::Status CheckUnchanged(const ModuleJob& job, const std::string& sha256) {
  if (sha256 == job.module.sha256()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("module ", job.path, " was replaced while the job was being submitted or ran"));
}

v1::ModuleRequest RequestFor(const std::string& path, const JobOptions& job) {
  v1::ModuleRequest request;
  request.set_path(path);
  request.set_job(job.job);
  for (const auto& [name, value] : job.parameters) {
    v1::JobParameter& parameter = *request.add_parameters();
    parameter.set_name(name);
    parameter.set_value(value);
  }
  return request;
}

}  // namespace

absl::StatusOr<ModuleJob> AskModuleJob(const JobOptions& job, CommandHost& host) {
  ModuleJob found;
  if (job.module.empty()) return found;
  found.path = AbsolutePath(job.module, host.working_directory);
  const auto content = ContentOf(found.path, host);
  if (!content.ok()) return content.status();
  const auto answer = host.ask_module(RequestFor(found.path, job), limits::kModuleAnswer);
  if (!answer.ok()) return answer.status();
  if (answer->jobs_size() != 1) {
    return absl::InternalError(absl::StrCat("module ", found.path, " described ",
                                            answer->jobs_size(), " jobs instead of one"));
  }
  found.module.set_sha256(content->sha256);
  *found.module.mutable_description() = answer->jobs(0);
  return found;
}

absl::Status AddModule(const ModuleJob& job, Session& session, MasterAbsence& absence,
                       CommandHost& host, v1::JobSpec& spec) {
  if (job.path.empty()) return absl::OkStatus();
  const LocalArtifact file = {job.path, job.path.substr(job.path.rfind('/') + 1),
                              /*executable=*/false};
  const int index = spec.artifacts_size();
  absl::Status sent = SendArtifacts({&file, 1}, session, absence, host, spec);
  if (!sent.ok()) return sent;
  *spec.mutable_module() = job.module;
  return CheckUnchanged(job, spec.artifacts(index).sha256());
}

absl::StatusOr<std::string> PresentByModule(const ModuleJob& job, const JobOptions& options,
                                            const std::vector<std::string>& part_paths,
                                            CommandHost& host) {
  const auto content = ContentOf(job.path, host);
  if (!content.ok()) return content.status();
  if (absl::Status same = CheckUnchanged(job, content->sha256); !same.ok()) return same;
  v1::ModuleRequest request = RequestFor(job.path, options);
  request.set_present(true);
  for (const std::string& path : part_paths) request.add_part_paths(path);
  auto answer = host.ask_module(request, limits::kModulePresent);
  if (!answer.ok()) return answer.status();
  return std::move(*answer->mutable_presented());
}

absl::StatusOr<std::vector<v1::JobDescription>> JobsOfModule(const std::string& path,
                                                             CommandHost& host) {
  const std::string absolute = AbsolutePath(path, host.working_directory);
  if (absl::Status file = ContentOf(absolute, host).status(); !file.ok()) return file;
  v1::ModuleRequest request;
  request.set_path(absolute);
  const auto answer = host.ask_module(request, limits::kModuleAnswer);
  if (!answer.ok()) return answer.status();
  return std::vector<v1::JobDescription>(answer->jobs().begin(), answer->jobs().end());
}

}  // namespace weir::client
