#include "runtime/rpc/grpc/watch_call.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "runtime/rpc/grpc/call_status.h"
#include "weir/v1/services.grpc.pb.h"

namespace weir::rpc {
namespace {

// What the loop knows of the stream; gone once `open` is false.
struct Listener {
  bool open = true;
  absl::AnyInvocable<void(v1::JobStatus)> on_status;
  absl::AnyInvocable<void(absl::Status)> on_end;
};

// gRPC's end: reads one message after another and hands it to the loop. Kept alive by itself until
// OnDone.
class WatchReader final : public grpc::ClientReadReactor<v1::JobStatus>,
                          public std::enable_shared_from_this<WatchReader> {
 public:
  WatchReader(std::shared_ptr<grpc::Channel> channel, std::string peer, env::EventLoop& loop,
              std::shared_ptr<OpenCalls> calls, v1::WatchRequest request,
              std::shared_ptr<Listener> listener)
      : stub_(v1::JobService::NewStub(channel)),
        peer_(std::move(peer)),
        loop_(loop),
        calls_(std::move(calls)),
        request_(std::move(request)),
        listener_(std::move(listener)) {}

  void Start() {
    self_ = shared_from_this();
    if (!calls_->Enter([this_call = self_] { this_call->Cancel(); }, &key_)) {
      PostEnd(absl::CancelledError("Watch: shutting down"));
      self_.reset();
      return;
    }
    stub_->async()->Watch(&context_, &request_, this);
    StartRead(&status_);
    StartCall();
  }

  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone follows
    loop_.Post([listener = listener_, status = std::move(status_)]() mutable {
      if (listener->open) listener->on_status(std::move(status));
    });
    status_ = v1::JobStatus();
    StartRead(&status_);
  }

  void OnDone(const grpc::Status& status) override {
    PostEnd(FromGrpcStatus(status, peer_));
    const std::shared_ptr<WatchReader> last = std::move(self_);
    calls_->Leave(key_);
  }

 private:
  void PostEnd(absl::Status status) {
    loop_.Post([listener = listener_, status = std::move(status)]() mutable {
      if (listener->open) listener->on_end(std::move(status));
    });
  }

  std::unique_ptr<v1::JobService::Stub> stub_;
  const std::string peer_;
  env::EventLoop& loop_;
  const std::shared_ptr<OpenCalls> calls_;
  OpenCalls::Key key_ = 0;
  grpc::ClientContext context_;
  v1::WatchRequest request_;
  v1::JobStatus status_;
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<WatchReader> self_;
};

class WatchSubscription final : public Subscription {
 public:
  WatchSubscription(std::shared_ptr<Listener> listener, std::shared_ptr<WatchReader> reader)
      : listener_(std::move(listener)), reader_(std::move(reader)) {}
  ~WatchSubscription() override {
    listener_->open = false;
    reader_->Cancel();
  }

 private:
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<WatchReader> reader_;
};

}  // namespace

gpr_timespec DeadlineAfter(absl::Duration timeout) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(absl::ToInt64Nanoseconds(timeout), GPR_TIMESPAN));
}

std::unique_ptr<Subscription> StartWatchCall(std::shared_ptr<grpc::Channel> channel,
                                             const std::string& peer, env::EventLoop& loop,
                                             std::shared_ptr<OpenCalls> calls,
                                             v1::WatchRequest request,
                                             absl::AnyInvocable<void(v1::JobStatus)> on_status,
                                             absl::AnyInvocable<void(absl::Status)> on_end) {
  auto listener = std::make_shared<Listener>();
  listener->on_status = std::move(on_status);
  listener->on_end = std::move(on_end);
  auto reader = std::make_shared<WatchReader>(std::move(channel), peer, loop, std::move(calls),
                                              std::move(request), listener);
  reader->Start();
  return std::make_unique<WatchSubscription>(std::move(listener), std::move(reader));
}

}  // namespace weir::rpc
