// Flags that the master and the worker share.

#include "runtime/client/flags/command_flags.h"

namespace weir::client {

void AddListenerSecurity(CLI::App& app, TlsFiles& tls, std::string& token_file, bool& insecure) {
  AddTls(app, tls);
  AddToken(app, token_file);
  app.add_flag(
         "--insecure", insecure,
         "Plain text, also beyond this machine, and no token: everybody who reaches the port can "
         "run jobs. With TLS files calls still use them; a worker then allows plain text between "
         "workers alone")
      ->group("Security");
}

void AddLog(CLI::App& app, LogOptions& log) {
  app.add_option("--log-format", log.format,
                 "'text' or 'json' (default: text on a terminal, else json)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("NAME");
  app.add_option("--log-level", log.level, "'info', 'warning' or 'error' (default: info)")
      ->check(CLI::IsMember({"info", "warning", "error"}))
      ->type_name("NAME");
}

}  // namespace weir::client
