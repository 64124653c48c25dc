#include "runtime/rpc/grpc/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
#include "runtime/rpc/grpc/call_settings.h"
#include "runtime/rpc/grpc/callback_queue.h"
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
  // Two daemons on one port would each get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetResourceQuota(grpc::ResourceQuota("weir").Resize(kServerMemoryBytes));
}

absl::Status CannotListen(const std::string& address) {
  return absl::UnavailableError(absl::StrCat(
      "cannot listen on ", address,
      ": the address is taken, does not belong to this host, or its name is not known here"));
}

class GrpcServerImpl final : public GrpcServer {
 public:
  GrpcServerImpl(env::EventLoop& loop, const std::string& token, const Services& services)
      : jobs_(loop, calls_, token, services.jobs),
        cluster_(loop, calls_, token, services.cluster),
        worker_(loop, calls_, token, services.worker) {}
  ~GrpcServerImpl() override { Close(); }

  absl::Status Listen(const std::string& address, const Security& security,
                      const Services& services) {
    if (!CanListen(address)) return CannotListen(address);
    RouteLibraryLog();
    KeepCallbackQueue();
    grpc::EnableDefaultHealthCheckService(true);
    if (IsLoopback(address)) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    Configure(builder);
    builder.AddListeningPort(address, ServerCredentialsFor(security), &port_);
    if (services.jobs) builder.RegisterService(&jobs_);
    if (services.cluster) builder.RegisterService(&cluster_);
    if (services.worker) builder.RegisterService(&worker_);
    server_ = builder.BuildAndStart();
    if (server_ && port_ != 0) return absl::OkStatus();
    if (security.tls) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", address,
                       ": the address is taken or not ours, or the TLS files do not fit together"));
    }
    return CannotListen(address);
  }

  int port() const override { return port_; }
  void SetServing(const std::string& role, bool serving) override {
    if (server_) server_->GetHealthCheckService()->SetServingStatus(role, serving);
  }
  void Close() override {
    if (!server_) return;
    calls_->EndAll();
    server_->Shutdown(DeadlineAfter(kServerCloseGrace));
    server_->Wait();
    // Streams leave on gRPC's threads a moment after.
    calls_->WaitUntilEmpty();
    server_.reset();
  }

 private:
  const std::shared_ptr<OpenCalls> calls_ = std::make_shared<OpenCalls>();
  GrpcService<JobService> jobs_;
  GrpcService<ClusterService> cluster_;
  GrpcService<WorkerService> worker_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const std::string& address,
                                                              const Security& security,
                                                              env::EventLoop& loop,
                                                              const Services& services) {
  if (absl::Status allowed = CheckListenAddress(address, security); !allowed.ok()) return allowed;
  auto server = std::make_unique<GrpcServerImpl>(
      loop, security.NeedsToken() ? security.token : std::string(), services);
  if (absl::Status listening = server->Listen(address, security, services); !listening.ok()) {
    return listening;
  }
  return std::unique_ptr<GrpcServer>(std::move(server));
}

}  // namespace weir::rpc
