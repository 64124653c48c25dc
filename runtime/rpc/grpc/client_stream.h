#pragma once

// The client's end of a stream: from gRPC's threads to the loop.

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"
#include "runtime/rpc/grpc/access_token.h"
#include "runtime/rpc/grpc/call_status.h"
#include "runtime/rpc/grpc/method_path.h"
#include "runtime/rpc/grpc/open_calls.h"

namespace weir::rpc {

/// What the loop knows of a stream; nothing is called any more once `open` is false.
template <typename Method>
struct StreamListener {
  Call<Method> call;
  bool open = true;
};

/// gRPC's end of a stream: reads one message after another and hands it to the loop. Kept alive by
/// itself until OnDone.
template <typename Method>
class StreamReader final : public grpc::ClientReadReactor<typename Method::Response>,
                           public std::enable_shared_from_this<StreamReader<Method>> {
 public:
  using Message = typename Method::Response;
  using Listener = StreamListener<Method>;

  StreamReader(std::shared_ptr<grpc::Channel> channel, std::string peer, const std::string& token,
               env::EventLoop& loop, std::shared_ptr<OpenCalls> calls,
               std::shared_ptr<Listener> listener)
      : channel_(std::move(channel)),
        peer_(std::move(peer)),
        loop_(loop),
        calls_(std::move(calls)),
        listener_(std::move(listener)) {
    ShowToken(token, context_);
  }

  void Start() {
    self_ = this->shared_from_this();
    if (!calls_->Enter([this_call = self_] { this_call->Cancel(); }, &key_)) {
      PostEnd(absl::CancelledError(absl::StrCat(Method::kName, ": shutting down")));
      self_.reset();
      return;
    }
    const grpc::internal::RpcMethod method(PathOf<Method>(),
                                           grpc::internal::RpcMethod::SERVER_STREAMING, channel_);
    grpc::internal::ClientCallbackReaderFactory<Message>::Create(channel_.get(), method, &context_,
                                                                 &listener_->call.request, this);
    this->StartRead(&message_);
    this->StartCall();
  }

  void Cancel() {
    canceller_ = Canceller::kThisProcess;
    context_.TryCancel();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone follows
    loop_.Post([listener = listener_, message = std::move(message_)]() mutable {
      if (listener->open) listener->call.on_message(std::move(message));
    });
    message_ = Message();
    this->StartRead(&message_);
  }

  void OnDone(const grpc::Status& status) override {
    PostEnd(FromGrpcStatus(status, peer_, canceller_));
    const std::shared_ptr<StreamReader> last = std::move(self_);
    calls_->Leave(key_);
  }

 private:
  void PostEnd(absl::Status status) {
    loop_.Post([listener = listener_, status = std::move(status)]() mutable {
      if (listener->open) listener->call.on_end(std::move(status));
    });
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string peer_;
  env::EventLoop& loop_;
  const std::shared_ptr<OpenCalls> calls_;
  OpenCalls::Key key_ = 0;
  grpc::ClientContext context_;
  std::atomic<Canceller> canceller_ = Canceller::kPeer;
  Message message_;
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<StreamReader> self_;
};

template <typename Method>
class StreamSubscription final : public Subscription {
 public:
  StreamSubscription(std::shared_ptr<StreamListener<Method>> listener,
                     std::shared_ptr<StreamReader<Method>> reader)
      : listener_(std::move(listener)), reader_(std::move(reader)) {}
  ~StreamSubscription() override {
    listener_->open = false;
    reader_->Cancel();
  }

 private:
  std::shared_ptr<StreamListener<Method>> listener_;
  std::shared_ptr<StreamReader<Method>> reader_;
};

/// Streams without a deadline of its own: a stream lasts until one of its ends leaves it; keepalive
/// finds a dead peer.
template <typename Method>
std::unique_ptr<Subscription> StartStream(std::shared_ptr<grpc::Channel> channel,
                                          const std::string& peer, const std::string& token,
                                          env::EventLoop& loop, std::shared_ptr<OpenCalls> calls,
                                          Call<Method> call) {
  auto listener = std::make_shared<StreamListener<Method>>();
  listener->call = std::move(call);
  auto reader = std::make_shared<StreamReader<Method>>(std::move(channel), peer, token, loop,
                                                       std::move(calls), listener);
  reader->Start();
  return std::make_unique<StreamSubscription<Method>>(std::move(listener), std::move(reader));
}

}  // namespace weir::rpc
