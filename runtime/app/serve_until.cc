#include "runtime/app/serve_until.h"

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/base/log.h"

namespace weir::app {
namespace {

// How often a server is asked, which is the least time between two listeners, too: whoever used the
// descriptors up may do so again.
constexpr absl::Duration kListenLook = absl::Seconds(1);
constexpr int kListenTriesMax = 10;

}  // namespace

bool ServeUntil(ControlProcess& process, rpc::GrpcServer& server,
                const std::function<bool()>& done) {
  for (int failures = 0; failures < kListenTriesMax;) {
    // In turns, because nothing else may wake a loop that nobody can reach.
    process.WaitFor(kListenLook, done);
    if (done()) return true;
    if (!server.deaf()) continue;
    if (const absl::Status listening = server.ListenAgain(); listening.ok()) {
      failures = 0;
      LogWarning(
          "A connection found no free descriptor; all connections were closed, and new ones "
          "are accepted again. Raise the limit of open files (ulimit -n)",
          {{"port", server.port()}});
    } else {
      ++failures;
      LogWarning("Cannot accept connections again yet", {{"error", listening.message()}});
    }
  }
  LogError(
      "No connection can be accepted any more, for want of descriptors or of the port; the "
      "daemon ends",
      {{"port", server.port()}});
  return false;
}

}  // namespace weir::app
