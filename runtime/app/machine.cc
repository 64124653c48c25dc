#include "runtime/app/machine.h"

#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "runtime/base/log.h"
#include "runtime/env/real/posix_storage.h"

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
  return std::max(1, CPU_COUNT(&cores));
}

std::string TemporaryDirectory(const std::string& chosen) {
  std::string directory = chosen.empty() ? EnvironmentVariable("TMPDIR") : chosen;
  if (directory.empty()) directory = "/tmp";
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(directory, error);
  return error ? directory : absolute.string();
}

std::string WorkingDirectory() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::current_path(error);
  return error ? "/" : path.string();
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

void SetUpDaemonLog(const client::LogOptions& options) {
  const bool text = options.format.empty() ? isatty(STDERR_FILENO) == 1 : options.format == "text";
  const LogLevel level = options.level == "error"     ? LogLevel::kError
                         : options.level == "warning" ? LogLevel::kWarning
                                                      : LogLevel::kInfo;
  SetUpLogging(text ? LogFormat::kText : LogFormat::kJson, level);
}

absl::StatusOr<rpc::Security> LoadSecurity(const client::TlsFiles& tls, bool insecure) {
  rpc::Security security;
  security.insecure = insecure;
  if (!tls.given()) return security;
  constexpr std::int64_t kPemBytesMax = 1 << 20;
  env::PosixStorage storage;
  rpc::TlsIdentity identity;
  for (const auto& [path, content] : {std::pair{&tls.certificate, &identity.certificate_pem},
                                      std::pair{&tls.key, &identity.key_pem},
                                      std::pair{&tls.authority, &identity.authority_pem}}) {
    auto text = storage.ReadFile(*path, kPemBytesMax);
    if (!text.ok()) return text.status();
    *content = *std::move(text);
  }
  security.tls = std::move(identity);
  return security;
}

}  // namespace weir::app
