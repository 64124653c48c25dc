#include "runtime/rpc/grpc/library_log.h"

#include <grpc/support/log.h>

#include <mutex>
#include <string>

#include "runtime/base/log.h"

namespace weir::rpc {
namespace {

void WriteLine(gpr_log_func_args* line) {
  constexpr std::size_t kLineBytesMax = 500;
  LogWarning("gRPC reports", {{"text", std::string(line->message).substr(0, kLineBytesMax)}});
}

}  // namespace

void RouteLibraryLog() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    gpr_set_log_function(WriteLine);
  });
}

}  // namespace weir::rpc
