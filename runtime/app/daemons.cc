#include "runtime/app/daemons.h"

#include <iostream>
#include <string>

#include "runtime/client/flags/exit_codes.h"

namespace weir::app {

int CannotStart(const char* daemon, const absl::Status& status) {
  std::cerr << "weir " << daemon << ": " << std::string(status.message()) << '\n';
  const client::ExitCode code = client::ExitCodeOfCall(status);
  return code == client::kExitMasterUnreachable ? client::kExitRefused : code;
}

}  // namespace weir::app
