#pragma once

// Calls to other processes. Upstream: the CLI, workers, the master. Downstream: GrpcServer there.

#include <memory>
#include <string>

#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"
#include "runtime/rpc/grpc/listen_security.h"

namespace weir::rpc {

/// Makes clients whose replies come on `loop`, and owns the calls they have under way.
///
/// Every call carries its deadline to the server; a peer that is silent shows by keepalive. Making
/// a client never blocks; an unreachable peer shows at the first call.
/// Ownership: `loop` must outlive this. The destructor cancels all calls and waits until gRPC has
///   let go of them; clients still around afterwards answer kCancelled.
class GrpcClients final : public WorkerConnector {
 public:
  GrpcClients(env::EventLoop& loop, Security security);
  ~GrpcClients() override;

  std::unique_ptr<JobApi> ConnectJobs(const std::string& master);
  std::unique_ptr<ClusterApi> ConnectCluster(const std::string& master);
  std::unique_ptr<WorkerApi> Connect(const std::string& control_endpoint) override;
  void AskWho(const std::string& control_endpoint, Reply<v1::IdentifyResponse> on_answer) override;
  void AskIfGone(const std::string& control_endpoint, absl::Duration timeout,
                 absl::AnyInvocable<void(bool gone)> on_answer) override;
  std::unique_ptr<Subscription> HoldOpen(const std::string& control_endpoint,
                                         absl::AnyInvocable<void(bool was_open)> on_end) override;

 private:
  class Channels;
  template <typename Service>
  std::unique_ptr<Api<Service>> ConnectTo(const std::string& peer);
  std::shared_ptr<Channels> channels_;
};

}  // namespace weir::rpc
