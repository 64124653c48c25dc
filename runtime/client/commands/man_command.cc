// weir man.

#include "absl/strings/str_cat.h"
#include "runtime/base/nearest_name.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/commands/man_page.h"
#include "runtime/client/flags/command_line.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/job_spec.h"

namespace weir::client {
namespace {

absl::Status WriteAll(const CommandTree& tree, const std::string& directory, CommandHost& host) {
  const auto write = [&](const std::string& file, const std::string& page) {
    return host.storage.WriteNamed(absl::StrCat(directory, "/", file), page);
  };
  if (absl::Status written = write(ManPageFile(""), ManPage(tree, kVersion)); !written.ok()) {
    return written;
  }
  for (const CommandDescription& command : tree.commands) {
    absl::Status written = write(ManPageFile(command.name), ManPageOf(command, kVersion));
    if (!written.ok()) return written;
  }
  return absl::OkStatus();
}

}  // namespace

int Man(const ManOptions& options, CommandHost& host) {
  const CommandTree tree = DescribeCommandLine({});
  if (!options.directory.empty()) {
    const absl::Status written =
        WriteAll(tree, AbsolutePath(options.directory, host.working_directory), host);
    if (written.ok()) return kExitOk;
    host.err << "weir: " << written.message() << '\n';
    return kExitRefused;
  }
  if (options.command.empty() || options.command == "weir") {
    host.out << ManPage(tree, kVersion);
    return kExitOk;
  }
  std::vector<std::string> names;
  for (const CommandDescription& command : tree.commands) {
    if (command.name == options.command) {
      host.out << ManPageOf(command, kVersion);
      return kExitOk;
    }
    names.push_back(command.name);
  }
  host.err << "weir: there is no command '" << options.command << "'."
           << SuggestName(options.command, names) << '\n';
  return kExitUsage;
}

}  // namespace weir::client
