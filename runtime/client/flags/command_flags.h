#pragma once

// The flags of each command, declared once on a CLI11 tree. Only command_line.cc and these files
// see CLI11.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "runtime/client/flags/options.h"

namespace weir::client {

/// Called by CLI11 once a command's flags are read.
using TakeCommand = std::function<void(Command)>;

/// Commands that run, ask about and end jobs.
void AddJobCommands(CLI::App& app, const TakeCommand& take);
/// Commands that need no master: jobs, planner, verify, data, completion, version.
void AddLocalCommands(CLI::App& app, const TakeCommand& take);
/// data generate and data validate; called by AddLocalCommands.
void AddDataCommands(CLI::App& app, const std::string& group, const TakeCommand& take);
/// master and worker.
void AddDaemonCommands(CLI::App& app, const TakeCommand& take);

/// Flags whose values carry units.
CLI::Option* AddBytes(CLI::App& app, const std::string& name, std::int64_t& target,
                      const std::string& help);
CLI::Option* AddDuration(CLI::App& app, const std::string& name, absl::Duration& target,
                         const std::string& help);
CLI::Option* AddRate(CLI::App& app, const std::string& name, double& bytes_per_s,
                     const std::string& help);
/// Flags that several commands share.
void AddTls(CLI::App& app, TlsFiles& tls);
void AddJson(CLI::App& app, bool& json);

}  // namespace weir::client
