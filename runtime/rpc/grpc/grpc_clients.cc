#include "runtime/rpc/grpc/grpc_clients.h"

#include <google/protobuf/empty.pb.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
#include "runtime/rpc/grpc/access_token.h"
#include "runtime/rpc/grpc/call_settings.h"
#include "runtime/rpc/grpc/call_status.h"
#include "runtime/rpc/grpc/callback_queue.h"
#include "runtime/rpc/grpc/client_stream.h"
#include "runtime/rpc/grpc/library_log.h"
#include "runtime/rpc/grpc/method_path.h"
#include "runtime/rpc/grpc/open_calls.h"
#include "runtime/rpc/pending_reply.h"

namespace weir::rpc {
namespace {

int Millis(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(const Security& security) {
  if (!security.tls) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = security.tls->authority_pem,
                               .pem_private_key = security.tls->key_pem,
                               .pem_cert_chain = security.tls->certificate_pem});
}

enum class Connection { kShared, kOwn };

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& target, const Security& security,
                                           Connection connection = Connection::kShared) {
  grpc::ChannelArguments arguments;
  if (connection == Connection::kOwn) arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Millis(kKeepaliveTime));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Millis(kKeepaliveTimeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, Millis(kReconnectMin));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, Millis(kConnectTimeout));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Millis(kReconnectMax));
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  // Endpoints are the user's own hosts: a proxy of the environment is not meant for them.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(limits::kMessageBytesMax);
  arguments.SetMaxSendMessageSize(limits::kMessageBytesMax);
  return grpc::CreateCustomChannel(target, ClientCredentials(security), arguments);
}

// Of gRPC's own health service; an empty request asks for the server as a whole.
struct Health {
  static constexpr char kName[] = "grpc.health.v1.Health";
};
struct CheckHealth : Unary<Health, google::protobuf::Empty, google::protobuf::Empty> {
  static constexpr char kName[] = "Check";
};
// Says at once what Check says, then each change, for as long as both ends live.
struct WatchHealth : Stream<Health, google::protobuf::Empty, google::protobuf::Empty> {
  static constexpr char kName[] = "Watch";
};

}  // namespace

class GrpcClients::Channels {
 public:
  Channels(env::EventLoop& reply_loop, Security how) : loop(reply_loop), security(std::move(how)) {}

  // One request on its way; lives until gRPC calls back.
  template <typename Method>
  struct UnaryCall {
    grpc::ClientContext context;
    typename Method::Request request;
    typename Method::Response response;
    std::shared_ptr<PendingReply<typename Method::Response>> pending;
    OpenCalls::Key key = 0;
    std::atomic<Canceller> canceller = Canceller::kPeer;
  };

  // Carrier to one peer.
  struct Carrier {
    std::shared_ptr<Channels> owner;
    std::string peer;
    std::shared_ptr<grpc::Channel> channel;
    std::string token;

    template <typename Method>
    void Carry(Call<Method> asked) {
      using Request = typename Method::Request;
      using Response = typename Method::Response;
      auto call = std::make_shared<UnaryCall<Method>>();
      call->pending = PendingReply<Response>::Start(owner->loop, asked.timeout, Method::kName,
                                                    std::move(asked.reply));
      call->request = std::move(asked.request);
      call->context.set_deadline(DeadlineAfter(asked.timeout));
      ShowToken(token, call->context);
      if (!owner->calls->Enter(
              [call] {
                call->canceller = Canceller::kThisProcess;
                call->context.TryCancel();
              },
              &call->key)) {
        call->pending->PostAnswer(
            absl::CancelledError(absl::StrCat(Method::kName, ": shutting down")));
        return;
      }
      grpc::TemplatedGenericStub<Request, Response>(channel).UnaryCall(
          &call->context, PathOf<Method>(), grpc::StubOptions(), &call->request, &call->response,
          [call, channels = owner, peer_name = peer](const grpc::Status& status) {
            if (status.ok()) {
              call->pending->PostAnswer(std::move(call->response));
            } else {
              call->pending->PostAnswer(FromGrpcStatus(status, peer_name, call->canceller));
            }
            channels->calls->Leave(call->key);
          });
    }

    template <typename Method>
    requires(Method::kStreams) std::unique_ptr<Subscription> Carry(Call<Method> call) {
      return StartStream(channel, peer, token, owner->loop, owner->calls, std::move(call));
    }
  };

  env::EventLoop& loop;
  const Security security;
  const std::shared_ptr<OpenCalls> calls = std::make_shared<OpenCalls>();
};

GrpcClients::GrpcClients(env::EventLoop& loop, Security security)
    : channels_(std::make_shared<Channels>(loop, std::move(security))) {
  RouteLibraryLog();
  KeepCallbackQueue();
}

GrpcClients::~GrpcClients() {
  channels_->calls->EndAll();
  channels_->calls->WaitUntilEmpty();
}

template <typename Service>
std::unique_ptr<Api<Service>> GrpcClients::ConnectTo(const std::string& peer) {
  return std::make_unique<Api<Service>>(std::make_shared<Channels::Carrier>(
      Channels::Carrier{channels_, peer, OpenChannel(peer, channels_->security),
                        TokenFor(channels_->security, peer)}));
}
std::unique_ptr<JobApi> GrpcClients::ConnectJobs(const std::string& master) {
  return ConnectTo<JobService>(master);
}
std::unique_ptr<ClusterApi> GrpcClients::ConnectCluster(const std::string& master) {
  return ConnectTo<ClusterService>(master);
}
std::unique_ptr<WorkerApi> GrpcClients::Connect(const std::string& control_endpoint) {
  return ConnectTo<WorkerService>(control_endpoint);
}

void GrpcClients::AskIfGone(const std::string& control_endpoint, absl::Duration timeout,
                            absl::AnyInvocable<void(bool gone)> on_answer) {
  // A connection of its own knows nothing of an older attempt, and is not held up by one.
  Channels::Carrier carrier{channels_, control_endpoint,
                            OpenChannel(control_endpoint, channels_->security, Connection::kOwn),
                            /*token=*/""};
  carrier.Carry(Call<CheckHealth>{
      {},
      [on_answer =
           std::move(on_answer)](const absl::StatusOr<google::protobuf::Empty>& answer) mutable {
        // gRPC tells the reason by this text alone; were it to change, the lease would decide.
        on_answer(absl::IsUnavailable(answer.status()) &&
                  absl::StrContains(answer.status().message(), "Connection refused"));
      },
      timeout});
}

void GrpcClients::AskWho(const std::string& control_endpoint,
                         Reply<v1::IdentifyResponse> on_answer) {
  Channels::Carrier carrier{channels_, control_endpoint,
                            OpenChannel(control_endpoint, channels_->security, Connection::kOwn),
                            TokenFor(channels_->security, control_endpoint)};
  carrier.Carry(Call<Identify>{{}, std::move(on_answer)});
}

std::unique_ptr<Subscription> GrpcClients::HoldOpen(
    const std::string& control_endpoint, absl::AnyInvocable<void(bool was_open)> on_end) {
  Channels::Carrier carrier{channels_, control_endpoint,
                            OpenChannel(control_endpoint, channels_->security), /*token=*/""};
  auto was_open = std::make_shared<bool>(false);
  return carrier.Carry(Call<WatchHealth>{
      {},
      [was_open](const google::protobuf::Empty&) { *was_open = true; },
      [was_open, on_end = std::move(on_end)](const absl::Status&) mutable { on_end(*was_open); }});
}

}  // namespace weir::rpc
