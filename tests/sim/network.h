#pragma once

// Calls between simulated processes: delayed, reordered, lost, delivered twice.
// Upstream: World. Downstream: the RPC interfaces of master and workers.

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
  const rpc::ClusterApi* cluster = nullptr;
  const rpc::WorkerApi* worker = nullptr;

  const rpc::ClusterApi& Serving(rpc::ClusterService) const { return *cluster; }
  const rpc::WorkerApi& Serving(rpc::WorkerService) const { return *worker; }
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
  /// Messages that never arrived.
  std::int64_t lost() const { return lost_; }
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

  /// One call from `caller` to whoever has `address` when the request arrives.
  template <typename Method>
  void Carry(std::shared_ptr<ProcessLoop> caller, const std::string& address,
             rpc::Call<Method> call) {
    auto pending = std::make_shared<ReplyOf<Method>>(std::move(call.reply));
    caller->RunAt(time_.now() + call.timeout, [pending] {
      if (*pending) {
        std::exchange(*pending, nullptr)(absl::DeadlineExceededError("no answer (simulated)"));
      }
    });
    const int copies = random_.Chance(faults_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (Loses()) continue;
      time_.At(time_.now() + Delay(), nullptr,
               [this, caller, address, request = call.request, pending] {
                 Deliver<Method>(caller, address, request, pending);
               });
    }
  }

 private:
  template <typename Method>
  using ReplyOf = rpc::Reply<typename Method::Response>;

  bool Loses() {
    const bool loses = random_.Chance(faults_.drop);
    lost_ += loses ? 1 : 0;
    return loses;
  }
  absl::Duration Delay() { return random_.Duration(faults_.delay_min, faults_.delay_max); }

  template <typename Method>
  void Deliver(std::shared_ptr<ProcessLoop> caller, const std::string& address,
               const typename Method::Request& request, std::shared_ptr<ReplyOf<Method>> pending) {
    const auto it = endpoints_.find(address);
    if (it == endpoints_.end() || !it->second.loop->alive()) {
      return Answer<Method>(
          std::move(caller), std::move(pending),
          absl::UnavailableError(absl::StrCat("nobody at ", address, " (simulated)")));
    }
    it->second.loop->Post([this, endpoint = it->second, request, caller, pending] {
      const auto answer = [this, caller,
                           pending](absl::StatusOr<typename Method::Response> response) {
        if (!Loses()) Answer<Method>(caller, pending, std::move(response));
      };
      endpoint.Serving(typename Method::Service()).template Send<Method>(request, answer);
    });
  }

  template <typename Method>
  void Answer(std::shared_ptr<ProcessLoop> caller, std::shared_ptr<ReplyOf<Method>> pending,
              absl::StatusOr<typename Method::Response> response) {
    caller->RunAt(time_.now() + Delay(),
                  [pending = std::move(pending), response = std::move(response)]() mutable {
                    if (*pending) std::exchange(*pending, nullptr)(std::move(response));
                  });
  }

  VirtualTime& time_;
  SeededRandom& random_;
  NetworkFaults faults_;
  std::int64_t lost_ = 0;
  std::map<std::string, Endpoint> endpoints_;
  std::shared_ptr<ProcessLoop> master_loop_;
};

}  // namespace weir::sim
