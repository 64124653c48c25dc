#pragma once

// A conversation with one master, for commands that read like a script: ask, wait, go on.
// Upstream: runtime/app makes it, over gRPC or around a whole cluster in this process. Downstream:
// commands.

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"

namespace weir::client {

/// One master and the loop on which its answers come. Destroying it ends what others would miss: of
/// a whole cluster in this process, its processes and temporary files.
class Session {
 public:
  virtual ~Session() = default;
  virtual const rpc::JobApi& jobs() = 0;
  virtual env::EventLoop& loop() = 0;
  /// Runs the loop on the calling thread until `done` holds.
  virtual void RunUntil(const std::function<bool()>& done) = 0;
  /// Calls `on_interrupt` on the loop for each Ctrl-C, instead of ending the process.
  virtual void OnInterrupt(std::function<void()> on_interrupt) = 0;
  /// From now on the end of standard input is a Ctrl-C too.
  virtual void EndWithStdin() = 0;
  /// How the master is named to people.
  virtual std::string master_name() const = 0;
};

/// Makes one call and waits for its answer.
template <typename Method>
absl::StatusOr<typename Method::Response> Ask(Session& session, typename Method::Request request) {
  std::optional<absl::StatusOr<typename Method::Response>> answer;
  session.loop().Post([&] {
    session.jobs().Send<Method>(std::move(request),
                                [&answer](auto response) { answer = std::move(response); });
  });
  session.RunUntil([&] { return answer.has_value(); });
  return *std::move(answer);
}

/// The same, for what may take long. Errors: also kCancelled, when the user interrupts it.
template <typename Method>
absl::StatusOr<typename Method::Response> AskUnlessInterrupted(Session& session,
                                                               typename Method::Request request) {
  bool left = false;
  session.OnInterrupt([&left] { left = true; });
  // Shared: an interrupt does not wait for it.
  auto answer = std::make_shared<std::optional<absl::StatusOr<typename Method::Response>>>();
  session.loop().Post([&session, request = std::move(request), answer]() mutable {
    session.jobs().Send<Method>(std::move(request),
                                [answer](auto response) { *answer = std::move(response); });
  });
  session.RunUntil([&] { return left || answer->has_value(); });
  session.OnInterrupt({});
  if (answer->has_value()) return *std::move(*answer);
  return absl::CancelledError("interrupted");
}

}  // namespace weir::client
