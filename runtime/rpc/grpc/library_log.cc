#include "runtime/rpc/grpc/library_log.h"

#include <grpc/support/log.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/base/log.h"

namespace weir::rpc {
namespace {

std::atomic<std::int64_t>& ListenersLostCount() {
  static std::atomic<std::int64_t> count = 0;
  return count;
}

void WriteLine(gpr_log_func_args* line) {
  // All that gRPC 1.51 tells of a listener that it ends for want of a descriptor.
  if (std::string_view(line->message).starts_with("Failed accept4")) ++ListenersLostCount();
  constexpr std::size_t kLineBytesMax = 500;
  LogWarning("gRPC reports", {{"text", std::string(line->message).substr(0, kLineBytesMax)}});
}

}  // namespace

std::int64_t NumListenersLost() { return ListenersLostCount(); }

void RouteLibraryLog() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    gpr_set_log_function(WriteLine);
  });
}

}  // namespace weir::rpc
