#pragma once

// What the process is told by its surroundings: environment, terminal, cores, files.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"
#include "runtime/rpc/grpc/listen_security.h"

namespace weir::app {

/// Value of an environment variable; empty when it is not set.
std::string EnvironmentVariable(const char* name);
std::vector<std::pair<std::string, std::string>> WholeEnvironment();

/// Cores that this process may use.
int NumCores();

/// Directory for temporary files: `chosen`, else $TMPDIR, else /tmp.
std::string TemporaryDirectory(const std::string& chosen);

std::string WorkingDirectory();

/// How stderr shows text: columns, redrawing.
client::Terminal StderrTerminal();

/// Sends log lines to stderr as the flags say; text by default on a terminal, else JSON.
void SetUpDaemonLog(const client::LogOptions& options);

/// Reads the PEM files. Errors: name the file.
absl::StatusOr<rpc::Security> LoadSecurity(const client::TlsFiles& tls, bool insecure);

}  // namespace weir::app
