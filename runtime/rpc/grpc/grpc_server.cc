#include "runtime/rpc/grpc/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
#include "runtime/rpc/grpc/call_settings.h"
#include "runtime/rpc/grpc/callback_queue.h"
#include "runtime/rpc/grpc/caller_rules.h"
#include "runtime/rpc/grpc/grpc_service.h"
#include "runtime/rpc/grpc/library_log.h"
#include "runtime/rpc/grpc/listen_probe.h"

namespace weir::rpc {
namespace {

// TLS 1.3 is what gRPC 1.51 negotiates between our own processes; it offers no way to forbid 1.2.
std::shared_ptr<grpc::ServerCredentials> ServerCredentialsFor(const Security& security) {
  if (!security.tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = security.tls->authority_pem;
  options.pem_key_cert_pairs.push_back({security.tls->key_pem, security.tls->certificate_pem});
  return grpc::SslServerCredentials(options);
}

void Configure(grpc::ServerBuilder& builder) {
  const auto millis = [](absl::Duration duration) {
    return static_cast<int>(absl::ToInt64Milliseconds(duration));
  };
  builder.SetMaxReceiveMessageSize(limits::kMessageBytesMax);
  builder.SetMaxSendMessageSize(limits::kMessageBytesMax);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, millis(kKeepaliveTime));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, millis(kKeepaliveTimeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             millis(kPingIntervalMin));
  // Who connects and says nothing takes a descriptor for as long: two minutes where nobody asks.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, millis(kServerHandshake));
  // Two daemons on one port would each get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetResourceQuota(grpc::ResourceQuota("weir").Resize(kServerMemoryBytes));
}

// One server of gRPC, which cannot open a listener anew, and what serves with it.
struct Listener {
  Listener(env::EventLoop& loop, const CallerRules& rules, const Services& services)
      : jobs(loop, calls, rules, services.jobs),
        cluster(loop, calls, rules, services.cluster),
        worker(loop, calls, rules, services.worker) {}

  const std::shared_ptr<OpenCalls> calls = std::make_shared<OpenCalls>();
  GrpcService<JobService> jobs;
  GrpcService<ClusterService> cluster;
  GrpcService<WorkerService> worker;
  std::unique_ptr<grpc::Server> server;  // null: there is none
};

class GrpcServerImpl final : public GrpcServer {
 public:
  GrpcServerImpl(std::string address, Security security, env::EventLoop& loop,
                 const Services& services)
      : address_(std::move(address)),
        security_(std::move(security)),
        loop_(loop),
        services_(services) {}
  ~GrpcServerImpl() override { Close(); }

  absl::Status Listen() {
    if (absl::Status able = CheckCanListen(address_); !able.ok()) return able;
    RouteLibraryLog();
    KeepCallbackQueue();
    grpc::EnableDefaultHealthCheckService(true);
    if (IsLoopback(address_)) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    const std::int64_t lost_before = NumListenersLost();
    listener_ = std::make_unique<Listener>(loop_, CallerRulesOf(security_), services_);
    int port = 0;
    grpc::ServerBuilder builder;
    Configure(builder);
    builder.AddListeningPort(address_, ServerCredentialsFor(security_), &port);
    if (services_.jobs) builder.RegisterService(&listener_->jobs);
    if (services_.cluster) builder.RegisterService(&listener_->cluster);
    if (services_.worker) builder.RegisterService(&listener_->worker);
    listener_->server = builder.BuildAndStart();
    if (listener_->server == nullptr || port == 0) {
      Close();
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", address_, ": the address was taken just now",
                       security_.tls ? ", or the TLS files do not fit together" : ""));
    }
    lost_before_ = lost_before;
    port_ = port;
    address_ = absl::StrCat(address_.substr(0, address_.rfind(':')), ":", port);
    for (const auto& [role, serving] : serving_) TellHealth(role, serving);
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  void SetServing(const std::string& role, bool serving) override {
    serving_[role] = serving;
    if (listener_) TellHealth(role, serving);
  }
  bool deaf() const override { return !listener_ || NumListenersLost() != lost_before_; }
  absl::Status ListenAgain() override {
    Close();
    return Listen();
  }
  void Close() override {
    if (!listener_) return;
    if (listener_->server) {
      listener_->calls->EndAll();
      listener_->server->Shutdown(DeadlineAfter(kServerCloseGrace));
      listener_->server->Wait();
      // Streams leave on gRPC's threads a moment after.
      listener_->calls->WaitUntilEmpty();
    }
    listener_.reset();
  }

 private:
  void TellHealth(const std::string& role, bool serving) {
    listener_->server->GetHealthCheckService()->SetServingStatus(role, serving);
  }

  std::string address_;  // with its port, once that is known
  const Security security_;
  env::EventLoop& loop_;
  const Services services_;
  int port_ = 0;
  absl::btree_map<std::string, bool> serving_;  // by role
  std::int64_t lost_before_ = 0;                // listeners of this process, before this one
  std::unique_ptr<Listener> listener_;          // null: closed
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const std::string& address,
                                                              const Security& security,
                                                              env::EventLoop& loop,
                                                              const Services& services) {
  if (absl::Status allowed = CheckListenAddress(address, security); !allowed.ok()) return allowed;
  auto server = std::make_unique<GrpcServerImpl>(address, security, loop, services);
  if (absl::Status listening = server->Listen(); !listening.ok()) return listening;
  return std::unique_ptr<GrpcServer>(std::move(server));
}

}  // namespace weir::rpc
