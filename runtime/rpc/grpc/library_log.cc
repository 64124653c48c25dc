#include "runtime/rpc/grpc/library_log.h"

#include <grpc/support/log.h>
#include <grpc/support/time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/log.h"
#include "runtime/base/mono_time.h"
#include "runtime/rpc/grpc/library_lines.h"

namespace weir::rpc {
namespace {

std::atomic<std::int64_t>& ListenersLostCount() {
  static std::atomic<std::int64_t> count = 0;
  return count;
}

// gRPC has threads of its own, which may still write while the process ends: never destroyed.
std::optional<std::int64_t> AdmitLine(const std::string& text) {
  struct Lines {
    std::mutex mutex;
    LibraryLines lines;  // guarded by it
  };
  static Lines& of_process = *new Lines;
  const gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);
  constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
  const std::lock_guard lock(of_process.mutex);
  return of_process.lines.Admit(text,
                                MonoTime::FromNanos(now.tv_sec * kNanosPerSecond + now.tv_nsec));
}

void WriteLine(gpr_log_func_args* line) {
  // All that gRPC 1.51 tells of a listener that it ends for want of a descriptor.
  if (std::string_view(line->message).starts_with("Failed accept4")) ++ListenersLostCount();
  constexpr std::size_t kLineBytesMax = 500;
  const std::string text = std::string(line->message).substr(0, kLineBytesMax);
  const std::optional<std::int64_t> left_out = AdmitLine(text);
  if (!left_out) return;
  if (*left_out == 0) return LogWarning("gRPC reports", {{"text", text}});
  LogWarning("gRPC reports", {{"text", text}, {"left_out", *left_out}});
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
