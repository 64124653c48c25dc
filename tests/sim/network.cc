#include "tests/sim/network.h"

namespace weir::sim {
namespace {

class WorkerClient final : public rpc::WorkerApi {
 public:
  WorkerClient(Network& network, std::shared_ptr<ProcessLoop> caller, std::string address)
      : network_(network), caller_(std::move(caller)), address_(std::move(address)) {}

  void PrepareJob(v1::PrepareJobRequest request, absl::Duration timeout,
                  rpc::Reply<v1::PrepareJobResponse> reply) override {
    Forward(&rpc::WorkerApi::PrepareJob, std::move(request), timeout, std::move(reply));
  }
  void StartStep(v1::StartStepRequest request, absl::Duration timeout,
                 rpc::Reply<v1::StartStepResponse> reply) override {
    Forward(&rpc::WorkerApi::StartStep, std::move(request), timeout, std::move(reply));
  }
  void GrantTransfer(v1::GrantTransferRequest request, absl::Duration timeout,
                     rpc::Reply<v1::GrantTransferResponse> reply) override {
    Forward(&rpc::WorkerApi::GrantTransfer, std::move(request), timeout, std::move(reply));
  }
  void ReleaseJob(v1::ReleaseJobRequest request, absl::Duration timeout,
                  rpc::Reply<v1::ReleaseJobResponse> reply) override {
    Forward(&rpc::WorkerApi::ReleaseJob, std::move(request), timeout, std::move(reply));
  }
  void Probe(v1::ProbeRequest request, absl::Duration timeout,
             rpc::Reply<v1::ProbeResponse> reply) override {
    Forward(&rpc::WorkerApi::Probe, std::move(request), timeout, std::move(reply));
  }

 private:
  template <typename Request, typename Response>
  void Forward(void (rpc::WorkerApi::*method)(Request, absl::Duration, rpc::Reply<Response>),
               Request request, absl::Duration timeout, rpc::Reply<Response> reply) {
    network_.Call<Response>(
        caller_, address_, timeout,
        [method, request = std::move(request), timeout](const Endpoint& server,
                                                        rpc::Reply<Response> answer) {
          (server.worker->*method)(request, timeout, std::move(answer));
        },
        std::move(reply));
  }

  Network& network_;
  std::shared_ptr<ProcessLoop> caller_;
  const std::string address_;
};

class ClusterClient final : public rpc::ClusterApi {
 public:
  ClusterClient(Network& network, std::shared_ptr<ProcessLoop> caller)
      : network_(network), caller_(std::move(caller)) {}

  void Register(v1::RegisterRequest request, absl::Duration timeout,
                rpc::Reply<v1::RegisterResponse> reply) override {
    Forward(&rpc::ClusterApi::Register, std::move(request), timeout, std::move(reply));
  }
  void Heartbeat(v1::HeartbeatRequest request, absl::Duration timeout,
                 rpc::Reply<v1::HeartbeatResponse> reply) override {
    Forward(&rpc::ClusterApi::Heartbeat, std::move(request), timeout, std::move(reply));
  }
  void ReportStep(v1::ReportStepRequest request, absl::Duration timeout,
                  rpc::Reply<v1::ReportStepResponse> reply) override {
    Forward(&rpc::ClusterApi::ReportStep, std::move(request), timeout, std::move(reply));
  }
  void ReportTransfer(v1::ReportTransferRequest request, absl::Duration timeout,
                      rpc::Reply<v1::ReportTransferResponse> reply) override {
    Forward(&rpc::ClusterApi::ReportTransfer, std::move(request), timeout, std::move(reply));
  }

 private:
  template <typename Request, typename Response>
  void Forward(void (rpc::ClusterApi::*method)(Request, absl::Duration, rpc::Reply<Response>),
               Request request, absl::Duration timeout, rpc::Reply<Response> reply) {
    network_.Call<Response>(
        caller_, "master", timeout,
        [method, request = std::move(request), timeout](const Endpoint& server,
                                                        rpc::Reply<Response> answer) {
          (server.cluster->*method)(request, timeout, std::move(answer));
        },
        std::move(reply));
  }

  Network& network_;
  std::shared_ptr<ProcessLoop> caller_;
};

}  // namespace

std::unique_ptr<rpc::WorkerApi> Network::Connect(const std::string& control_endpoint) {
  return std::make_unique<WorkerClient>(*this, master_loop_, control_endpoint);
}

void Network::AskIfGone(const std::string& control_endpoint, absl::Duration timeout,
                        absl::AnyInvocable<void(bool gone)> on_answer) {
  // The host of a process answers for it, even while the process hangs.
  auto answer = std::make_shared<absl::AnyInvocable<void(bool)>>(std::move(on_answer));
  if (random_.Chance(faults_.drop)) {
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
  return std::make_unique<ClusterClient>(*this, std::move(caller));
}

}  // namespace weir::sim
