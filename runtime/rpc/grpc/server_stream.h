#pragma once

// The server's end of a stream: from the loop to gRPC's threads.

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"
#include "runtime/rpc/grpc/call_settings.h"
#include "runtime/rpc/grpc/call_status.h"
#include "runtime/rpc/grpc/caller_rules.h"
#include "runtime/rpc/grpc/open_calls.h"

namespace weir::rpc {

/// The server's end of one stream. Kept alive by itself until OnDone.
template <typename Method>
class StreamWriter final : public grpc::ServerWriteReactor<typename Method::Response>,
                           public std::enable_shared_from_this<StreamWriter<Method>> {
 public:
  using Message = typename Method::Response;

  StreamWriter(env::EventLoop& loop, std::shared_ptr<OpenCalls> calls)
      : loop_(loop), calls_(std::move(calls)) {}

  void Start(typename Method::Request request, const Api<typename Method::Service>& api) {
    self_ = this->shared_from_this();
    const auto end = [this_stream = self_] {
      this_stream->End(absl::UnavailableError(kShuttingDown));
    };
    if (!calls_->Enter(end, &key_)) {
      End(absl::UnavailableError(kShuttingDown));
      return;
    }
    loop_.Post([self = self_, &api, request = std::move(request)]() mutable {
      if (self->ended()) return;
      auto subscription = api.template Subscribe<Method>(
          std::move(request), [self](Message message) { self->Push(std::move(message)); },
          [self](absl::Status status) { self->End(std::move(status)); });
      self->Keep(std::move(subscription));
    });
  }

  /// Ends it before it begins.
  void Refuse(absl::Status why) {
    self_ = this->shared_from_this();
    End(std::move(why));
  }

  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
      // The peer is gone: nothing that waits can reach it.
      if (!ok) {
        queue_.clear();
        if (!end_) end_ = absl::CancelledError("the receiver of the stream went away");
      }
    }
    Advance();
  }

  void OnCancel() override { Drop(absl::CancelledError("the receiver of the stream went away")); }

  void OnDone() override {
    const std::shared_ptr<StreamWriter> last = std::move(self_);
    loop_.Post([last] { last->subscription_.reset(); });
    calls_->Leave(key_);
  }

 private:
  bool ended() {
    const std::lock_guard lock(mutex_);
    return end_.has_value();
  }

  // On the loop. The stream may have ended while the subscription was made.
  void Keep(std::unique_ptr<Subscription> subscription) {
    {
      const std::lock_guard lock(mutex_);
      if (finished_) return;
    }
    subscription_ = std::move(subscription);
  }

  void Push(Message message) {
    {
      const std::lock_guard lock(mutex_);
      if (end_) return;
      if (queue_.size() >= kStreamQueuedMax) queue_.pop_back();
      queue_.push_back(std::move(message));
    }
    Advance();
  }

  void End(absl::Status status) {
    {
      const std::lock_guard lock(mutex_);
      if (!end_) end_ = std::move(status);
    }
    Advance();
  }

  void Drop(absl::Status status) {
    {
      const std::lock_guard lock(mutex_);
      queue_.clear();
      if (!end_) end_ = std::move(status);
    }
    Advance();
  }

  // Starts the next write, or finishes once all is written. gRPC is called outside the lock; the
  // flags let only one thread get there.
  void Advance() {
    std::optional<absl::Status> finish;
    {
      const std::lock_guard lock(mutex_);
      if (writing_ || finished_) return;
      if (!queue_.empty()) {
        current_ = std::move(queue_.front());
        queue_.pop_front();
        writing_ = true;
      } else if (end_) {
        finished_ = true;
        finish = end_;
      } else {
        return;
      }
    }
    if (finish) {
      this->Finish(ToGrpcStatus(*finish));
    } else {
      this->StartWrite(&current_);
    }
  }

  env::EventLoop& loop_;
  const std::shared_ptr<OpenCalls> calls_;
  OpenCalls::Key key_ = 0;
  std::shared_ptr<StreamWriter> self_;          // until OnDone
  std::unique_ptr<Subscription> subscription_;  // on the loop
  Message current_;                             // while writing_
  std::mutex mutex_;
  std::deque<Message> queue_;        // guarded by mutex_
  std::optional<absl::Status> end_;  // guarded by mutex_
  bool writing_ = false;             // guarded by mutex_
  bool finished_ = false;            // guarded by mutex_
};

/// Subscribes on the loop and streams what comes. A receiver that reads slowly misses messages in
/// between, never the last one; one that goes away ends its subscription; one that does not show
/// what `rules` ask for gets none.
/// Bounds: kStreamQueuedMax messages held.
template <typename Method>
grpc::ServerWriteReactor<typename Method::Response>* ServeStream(
    const grpc::CallbackServerContext& context, const typename Method::Request& request,
    env::EventLoop& loop, std::shared_ptr<OpenCalls> calls, const CallerRules& rules,
    const Api<typename Method::Service>& api) {
  auto writer = std::make_shared<StreamWriter<Method>>(loop, std::move(calls));
  StreamWriter<Method>* reactor = writer.get();
  absl::Status known = CheckCallerOf<Method>(rules, context);
  if (known.ok()) {
    writer->Start(request, api);
  } else {
    writer->Refuse(std::move(known));
  }
  return reactor;
}

}  // namespace weir::rpc
