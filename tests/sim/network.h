#pragma once

// Calls between simulated processes: delayed, reordered, lost, delivered twice.
// Upstream: World. Downstream: the RPC interfaces of master and workers.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/rpc/api.h"
#include "tests/sim/virtual_time.h"

namespace weir::sim {

/// A process that can be called.
struct Endpoint {
  std::shared_ptr<ProcessLoop> loop;
  rpc::ClusterApi* cluster = nullptr;
  rpc::WorkerApi* worker = nullptr;
};

/// How bad the network is. Requests and answers suffer alike.
struct NetworkFaults {
  double drop = 0;
  double duplicate = 0;
  absl::Duration delay_min = absl::Microseconds(100);
  absl::Duration delay_max = absl::Microseconds(300);
};

/// Carries calls. Every message draws its own delay, so messages overtake each other.
class Network final : public rpc::WorkerConnector {
 public:
  Network(VirtualTime& time, SeededRandom& random) : time_(time), random_(random) {}

  void SetFaults(const NetworkFaults& faults) { faults_ = faults; }
  void Attach(const std::string& address, Endpoint endpoint) { endpoints_[address] = endpoint; }
  void Detach(const std::string& address) { endpoints_.erase(address); }
  /// Sets whose loop the connections of the master answer on.
  void SetMasterLoop(std::shared_ptr<ProcessLoop> loop) { master_loop_ = std::move(loop); }

  /// The master's way to a worker.
  std::unique_ptr<rpc::WorkerApi> Connect(const std::string& control_endpoint) override;
  void AskIfGone(const std::string& control_endpoint, absl::Duration timeout,
                 absl::AnyInvocable<void(bool gone)> on_answer) override;
  /// A worker's way to the master.
  std::unique_ptr<rpc::ClusterApi> ConnectMaster(std::shared_ptr<ProcessLoop> caller);

  template <typename Response>
  using Serve = std::function<void(const Endpoint&, rpc::Reply<Response>)>;

  /// One call from `caller` to whoever has `address` when the request arrives.
  template <typename Response>
  void Call(std::shared_ptr<ProcessLoop> caller, const std::string& address, absl::Duration timeout,
            Serve<Response> serve, rpc::Reply<Response> reply) {
    auto pending = std::make_shared<rpc::Reply<Response>>(std::move(reply));
    caller->RunAt(time_.now() + timeout, [pending] {
      if (*pending) {
        std::exchange(*pending, nullptr)(absl::DeadlineExceededError("no answer (simulated)"));
      }
    });
    const int copies = random_.Chance(faults_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (random_.Chance(faults_.drop)) continue;
      time_.At(time_.now() + Delay(), nullptr, [this, caller, address, serve, pending] {
        Deliver<Response>(caller, address, serve, pending);
      });
    }
  }

 private:
  absl::Duration Delay() { return random_.Duration(faults_.delay_min, faults_.delay_max); }

  template <typename Response>
  void Deliver(std::shared_ptr<ProcessLoop> caller, const std::string& address,
               Serve<Response> serve, std::shared_ptr<rpc::Reply<Response>> pending) {
    const auto it = endpoints_.find(address);
    if (it == endpoints_.end() || !it->second.loop->alive()) {
      return Answer<Response>(
          std::move(caller), std::move(pending),
          absl::UnavailableError(absl::StrCat("nobody at ", address, " (simulated)")));
    }
    it->second.loop->Post([this, endpoint = it->second, serve, caller, pending] {
      serve(endpoint, [this, caller, pending](absl::StatusOr<Response> response) {
        if (!random_.Chance(faults_.drop)) Answer(caller, pending, std::move(response));
      });
    });
  }

  template <typename Response>
  void Answer(std::shared_ptr<ProcessLoop> caller, std::shared_ptr<rpc::Reply<Response>> pending,
              absl::StatusOr<Response> response) {
    caller->RunAt(time_.now() + Delay(),
                  [pending = std::move(pending), response = std::move(response)]() mutable {
                    if (*pending) std::exchange(*pending, nullptr)(std::move(response));
                  });
  }

  VirtualTime& time_;
  SeededRandom& random_;
  NetworkFaults faults_;
  std::map<std::string, Endpoint> endpoints_;
  std::shared_ptr<ProcessLoop> master_loop_;
};

}  // namespace weir::sim
