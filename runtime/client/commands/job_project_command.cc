// weir new job.

#include "absl/strings/str_cat.h"
#include "runtime/base/shell_path.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/client/call_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/job_spec.h"
#include "runtime/client/project/job_project.h"

namespace weir::client {
namespace {

absl::Status WriteProject(const std::string& folder, const std::vector<ProjectFile>& files,
                          env::Storage& storage) {
  for (const ProjectFile& file : files) {
    absl::Status written =
        storage.WriteFileAtomically(absl::StrCat(folder, "/", file.name), file.text);
    if (!written.ok()) return written;
  }
  return absl::OkStatus();
}

}  // namespace

int NewJob(const NewJobOptions& options, CommandHost& host) {
  if (absl::Status legal = CheckProjectName(options.name); !legal.ok()) {
    host.err << "weir: " << EscapeControls(std::string(legal.message())) << '\n';
    return kExitUsage;
  }
  const std::string given = options.directory.empty() ? options.name : options.directory;
  const std::string folder = AbsolutePath(given, host.working_directory);
  // Whoever makes the folder owns what is in it: nothing of others is written over or removed.
  if (absl::Status made = host.storage.MakeDirectory(folder); !made.ok()) {
    if (absl::IsAlreadyExists(made)) {
      host.err << "weir: " << EscapeControls(given)
               << " exists. Name a folder that does not: weir new job " << options.name << " DIR\n";
      return kExitRefused;
    }
    return ReportCallError(made, /*json=*/false, host);
  }
  const std::vector<ProjectFile> files = JobProject(options.name, kVersion);
  if (absl::Status written = WriteProject(folder, files, host.storage); !written.ok()) {
    host.storage.RemoveAll(folder).IgnoreError();
    return ReportCallError(written, /*json=*/false, host);
  }
  for (const ProjectFile& file : files) {
    host.out << EscapeControls(given) << '/' << file.name << '\n';
  }
  const std::string build = EscapeControls(ShellPath(given + "/build"));
  host.err << "Next: cmake -S " << EscapeControls(ShellPath(given)) << " -B " << build
           << " && cmake --build " << build << " && ctest --test-dir " << build << '\n';
  return kExitOk;
}

}  // namespace weir::client
