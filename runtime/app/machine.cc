#include "runtime/app/machine.h"

#include <malloc.h>
#include <pwd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/env/real/posix_storage.h"
#include "runtime/env/real/state_directory.h"
#include "runtime/rpc/grpc/tls_files.h"
#include "runtime/worker/measure/cpu_quota.h"

extern char** environ;

namespace weir::app {

std::string EnvironmentVariable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::pair<std::string, std::string>> WholeEnvironment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

int NumCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return worker::ThreadsFor(std::max(1, CPU_COUNT(&cores)),
                            worker::CpuQuotaCores(worker::ReadKernelFile));
}

double UsableCores() {
  const double cores = NumCores();
  return std::min(cores, worker::CpuQuotaCores(worker::ReadKernelFile).value_or(cores));
}

void KeepTwoHeaps() { mallopt(M_ARENA_MAX, 2); }

int ThreadsOfGrpc() {
  // Counted in gRPC 1.51: timers, resolver, executors and the poller of a server; and one of its
  // event engine for each core, whoever may use that.
  constexpr long kOfAnyMachine = 8, kOfEngineMax = 32;
  return static_cast<int>(kOfAnyMachine +
                          std::clamp(::sysconf(_SC_NPROCESSORS_CONF), 2L, kOfEngineMax));
}

std::string TemporaryDirectory(const std::string& chosen) {
  std::string directory = chosen.empty() ? EnvironmentVariable("TMPDIR") : chosen;
  if (directory.empty()) directory = "/tmp";
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(directory, error);
  return error ? directory : absolute.string();
}

std::string WorkerState() {
  // Root's home is seldom where the large disk is.
  const bool of_system =
      ::geteuid() == 0 && !EnvironmentVariable("XDG_STATE_HOME").starts_with('/');
  const std::string state = of_system ? "/var/lib/weir" : env::StateDirectory();
  std::error_code error;
  if (!state.empty()) std::filesystem::create_directories(state, error);
  return state;
}

std::string WorkerDirectory(const std::string& chosen) {
  if (!chosen.empty()) return TemporaryDirectory(chosen);
  const std::string state = WorkerState();
  const std::filesystem::path directory = state + "/work";
  std::error_code error;
  if (!state.empty()) std::filesystem::create_directories(directory, error);
  if (!state.empty() && !error && ::access(directory.c_str(), W_OK | X_OK) == 0) return directory;
  const std::string temporary = TemporaryDirectory("");
  LogWarning(
      "Work directory lies among temporary files, which cleaners may remove; choose another "
      "with --work-dir",
      {{"directory", temporary}, {"instead_of", directory.string()}});
  return temporary;
}

absl::StatusOr<std::string> WorkingDirectory() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::current_path(error);
  if (!error) return path.string();
  return absl::NotFoundError(
      absl::StrCat("the current directory cannot be told (", error.message(),
                   "): it may have been removed; go to one that exists (cd) and try again"));
}

std::string ProgramPath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

client::Terminal StderrTerminal() {
  client::Terminal terminal;
  terminal.is_terminal = isatty(STDERR_FILENO) == 1 && EnvironmentVariable("TERM") != "dumb";
  winsize size = {};
  if (terminal.is_terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = size.ws_col;
  }
  return terminal;
}

bool StdoutIsTerminal() { return isatty(STDOUT_FILENO) == 1; }

void SetUpDaemonLog(const client::LogOptions& options) {
  const bool text = options.format.empty() ? isatty(STDERR_FILENO) == 1 : options.format == "text";
  const LogLevel level = options.level == "error"     ? LogLevel::kError
                         : options.level == "warning" ? LogLevel::kWarning
                                                      : LogLevel::kInfo;
  SetUpLogging(text ? LogFormat::kText : LogFormat::kJson, level);
}

absl::StatusOr<rpc::Security> LoadSecurity(const client::TlsFiles& tls, bool insecure,
                                           const std::string& token_file, TokenUse use) {
  rpc::Security security;
  security.insecure = insecure;
  if (!tls.given()) {
    absl::StatusOr<std::string> token = TakeToken(token_file, use);
    if (token.ok()) {
      security.token = *std::move(token);
    } else if (!insecure || !token_file.empty()) {
      return token.status();
    }
    return security;
  }
  env::PosixStorage storage;
  auto identity = rpc::ReadTlsFiles(
      storage, {.certificate = tls.certificate, .key = tls.key, .authority = tls.authority},
      {.certificate = "--tls-cert", .key = "--tls-key", .authority = "--tls-ca"}, absl::Now(),
      use == TokenUse::kCall ? rpc::TlsUse::kCalls : rpc::TlsUse::kServes);
  if (!identity.ok()) return identity.status();
  security.tls = *std::move(identity);
  return security;
}

std::string Callers(const rpc::Security& security) {
  if (security.tls) return "with a certificate of the authority";
  return security.NeedsToken() ? "with the user's token" : "everybody";
}

std::string UserAtHost() {
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  const passwd* const entry = ::getpwuid(::geteuid());
  const std::string user = entry == nullptr ? absl::StrCat(::geteuid()) : entry->pw_name;
  return ValidUtf8(absl::StrCat(user, "@", host));
}

}  // namespace weir::app
