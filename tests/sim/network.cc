#include "tests/sim/network.h"

namespace weir::sim {
namespace {

// Carrier from one process to an address.
struct Route {
  Network& network;
  const std::shared_ptr<ProcessLoop> caller;
  const std::string address;

  template <typename Method>
  void Carry(rpc::Call<Method> call) {
    network.Carry(caller, address, std::move(call));
  }
};

}  // namespace

std::unique_ptr<rpc::WorkerApi> Network::Connect(const std::string& control_endpoint) {
  return std::make_unique<rpc::WorkerApi>(
      std::make_shared<Route>(Route{*this, master_loop_, control_endpoint}));
}

void Network::AskIfGone(const std::string& control_endpoint, absl::Duration timeout,
                        absl::AnyInvocable<void(bool gone)> on_answer) {
  // The host of a process answers for it, even while the process hangs.
  auto answer = std::make_shared<absl::AnyInvocable<void(bool)>>(std::move(on_answer));
  if (Loses()) {
    master_loop_->RunAt(time_.now() + timeout, [answer] { (*answer)(false); });
    return;
  }
  time_.At(time_.now() + Delay(), nullptr, [this, control_endpoint, answer, caller = master_loop_] {
    const auto it = endpoints_.find(control_endpoint);
    const bool gone = it == endpoints_.end() || !it->second.loop->alive();
    caller->RunAt(time_.now() + Delay(), [answer, gone] { (*answer)(gone); });
  });
}

std::unique_ptr<rpc::ClusterApi> Network::ConnectMaster(std::shared_ptr<ProcessLoop> caller) {
  return std::make_unique<rpc::ClusterApi>(
      std::make_shared<Route>(Route{*this, std::move(caller), "master"}));
}

}  // namespace weir::sim
