#include "runtime/client/ship/shipped_files.h"

#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/shell_path.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/ship/artifact_upload.h"

namespace weir::client {
namespace {

absl::Status Wrong(const std::string& what, const std::string& advice) {
  return StatusFromJobError(absl::StatusCode::kInvalidArgument,
                            MakeJobError(job_error::kInvalidJob, what, advice));
}

// By name; one that is given twice goes once.
absl::StatusOr<absl::btree_map<std::string, ShippedPath>> ByName(const JobOptions& job) {
  absl::btree_map<std::string, ShippedPath> by_name;
  for (const ShippedPath& file : job.files) {
    // It goes from daemon to daemon as text; the path on this machine does not.
    if (ValidUtf8(file.name) != file.name) {
      return Wrong(
          absl::StrCat("the name of a file that goes with the job is not UTF-8: ", file.name),
          "give it another one: PATH#NAME");
    }
    const auto [found, added] = by_name.emplace(file.name, file);
    if (!added && (found->second.path != file.path || found->second.unpack != file.unpack)) {
      return Wrong(absl::StrCat("two files go with the job as '", file.name,
                                "': ", found->second.path, " and ", file.path),
                   "give one of them another name: PATH#NAME");
    }
  }
  return by_name;
}

}  // namespace

absl::Status CheckShippedFiles(const JobOptions& job, CommandHost& host) {
  const auto by_name = ByName(job);
  if (!by_name.ok()) return by_name.status();
  for (const auto& [name, file] : *by_name) {
    const auto found = host.storage.Stat(AbsolutePath(file.path, host.working_directory));
    if (absl::IsNotFound(found.status())) {
      return Wrong(absl::StrCat("there is no file ", file.path, ", which is to go with the job"),
                   "check the path");
    }
    if (!found.ok()) return found.status();
    if (found->is_directory) {
      return Wrong(absl::StrCat(file.path, " goes with the job, but is a directory"),
                   absl::StrCat("pack it and give it as an archive: tar -czf ",
                                ShellPath(name + ".tar.gz"), " -C ", ShellPath(file.path),
                                " . and ", ShellPath(name + ".tar.gz#" + name)));
    }
    if (!found->is_regular) {
      return Wrong(absl::StrCat(file.path, " goes with the job, but is no regular file"), "");
    }
  }
  return absl::OkStatus();
}

absl::Status AddShippedFiles(const JobOptions& job, Session& session, MasterAbsence& absence,
                             CommandHost& host, v1::JobSpec& spec) {
  const auto by_name = ByName(job);
  if (!by_name.ok()) return by_name.status();
  std::vector<LocalArtifact> files;
  for (const auto& [name, file] : *by_name) {
    files.push_back({AbsolutePath(file.path, host.working_directory), name,
                     /*executable=*/!file.unpack, file.unpack});
  }
  return SendArtifacts(files, session, absence, host, spec);
}

}  // namespace weir::client
