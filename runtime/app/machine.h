#pragma once

// What the process is told by its surroundings: environment, terminal, cores, files.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/app/access_token.h"
#include "runtime/client/command_host.h"
#include "runtime/client/flags/options.h"
#include "runtime/rpc/grpc/listen_security.h"

namespace weir::app {

/// Value of an environment variable; empty when it is not set.
std::string EnvironmentVariable(const char* name);
std::vector<std::pair<std::string, std::string>> WholeEnvironment();

/// Threads that this process can keep busy: its cores, fewer under a quota of its control group.
int NumCores();
/// What the quota leaves of these cores, which may be a part of one.
double UsableCores();

/// Has all threads share two heaps of malloc's. A worker's many threads each do little: with a heap
/// for each of them, which all fill up in time, its memory creeps up for hours; and a heap takes 64
/// to 128 MiB of what a client may have (ulimit -v), of which it uses next to nothing. Not for a
/// master, whose plans are large and short-lived. Call before threads.
void KeepTwoHeaps();

/// Threads that gRPC starts for a server or a client, those of its servers included.
int ThreadsOfGrpc();

/// Directory for temporary files: `chosen`, else $TMPDIR, else /tmp.
std::string TemporaryDirectory(const std::string& chosen);

/// Where what a worker daemon knows outlives it: $XDG_STATE_HOME/weir, /var/lib/weir for root,
/// ~/.local/state/weir for others; "" when there is no home. Made when it is not there,
/// where it can be.
std::string WorkerState();

/// Directory for the files of worker daemons: `chosen`, else one that no cleaner of temporary files
/// sweeps: $XDG_STATE_HOME/weir/work, /var/lib/weir/work for root, ~/.local/state/weir/work for
/// others. That one is made when it is not there. Where it cannot be, it is TemporaryDirectory.
std::string WorkerDirectory(const std::string& chosen);

/// The current directory. Errors: kNotFound where it was removed, saying what to do.
absl::StatusOr<std::string> WorkingDirectory();

/// Absolute path of this program; empty where the system does not tell.
std::string ProgramPath();

/// How stderr shows text: columns, redrawing.
client::Terminal StderrTerminal();

/// Whether a terminal, of whatever kind, shows what goes to stdout.
bool StdoutIsTerminal();

/// Sends log lines to stderr as the flags say; text by default on a terminal, else JSON.
void SetUpDaemonLog(const client::LogOptions& options);

/// Reads the PEM files and checks that they fit together now, or reads the token where there are
/// none. Errors: name the file and its flag; those of
/// TakeToken, unless `insecure` makes the token one that may be missing.
absl::StatusOr<rpc::Security> LoadSecurity(const client::TlsFiles& tls, bool insecure,
                                           const std::string& token_file, TokenUse use);

/// Who may call a server with this security, in a word for its log.
std::string Callers(const rpc::Security& security);

/// "alice@node7": who runs this program, as far as the machine tells.
std::string UserAtHost();

}  // namespace weir::app
