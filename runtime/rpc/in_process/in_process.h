#pragma once

// Calls between parts of one process, as they would go over the network: never inside the caller's
// turn, exactly one reply, at the latest at the deadline.
// Upstream: callers on their loop. Downstream: the server, on its own loop (or the same).

#include <memory>
#include <string>

#include "absl/container/btree_map.h"
#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"

namespace weir::rpc {

/// Returns a way to `target`. Calls are made on `caller`; `target` is called on `server`.
///
/// Ownership: loops and target must outlive the client and every call under way, unless the loops
///   have stopped. A client that is destroyed leaves its calls to end by themselves.
template <typename Service>
std::unique_ptr<Api<Service>> ConnectInProcess(env::EventLoop& caller, env::EventLoop& server,
                                               const Api<Service>& target);

/// Finds the workers of one process by endpoint. An endpoint that nobody announced answers
/// kUnavailable, as a dead host would. On one loop, that of the master.
class InProcessWorkers final : public WorkerConnector {
 public:
  explicit InProcessWorkers(env::EventLoop& caller) : caller_(caller) {}
  /// Makes `worker`, which runs on `loop`, reachable as `control_endpoint`.
  void Announce(const std::string& control_endpoint, env::EventLoop& loop, const WorkerApi& worker);
  /// Later calls through clients opened before still reach the worker; its owner ends them first.
  void Withdraw(const std::string& control_endpoint);
  std::unique_ptr<WorkerApi> Connect(const std::string& control_endpoint) override;
  void AskIfGone(const std::string& control_endpoint, absl::Duration timeout,
                 absl::AnyInvocable<void(bool gone)> on_answer) override;
  void AskWho(const std::string& control_endpoint, Reply<v1::IdentifyResponse> on_answer) override;
  std::unique_ptr<Subscription> HoldOpen(const std::string& control_endpoint,
                                         absl::AnyInvocable<void(bool was_open)> on_end) override;

 private:
  struct Worker {
    env::EventLoop* loop;
    const WorkerApi* api;
  };
  env::EventLoop& caller_;
  absl::btree_map<std::string, Worker> workers_;
};

}  // namespace weir::rpc
