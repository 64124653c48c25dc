#include "runtime/rpc/grpc/watch_stream.h"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/rpc/grpc/call_settings.h"
#include "runtime/rpc/grpc/call_status.h"

namespace weir::rpc {
namespace {

class WatchWriter final : public grpc::ServerWriteReactor<v1::JobStatus>,
                          public std::enable_shared_from_this<WatchWriter> {
 public:
  WatchWriter(env::EventLoop& loop, std::shared_ptr<OpenCalls> calls)
      : loop_(loop), calls_(std::move(calls)) {}

  void Start(v1::WatchRequest request, JobApi& api) {
    self_ = shared_from_this();
    const auto end = [this_stream = self_] {
      this_stream->End(absl::UnavailableError("the server is shutting down"));
    };
    if (!calls_->Enter(end, &key_)) {
      End(absl::UnavailableError("the server is shutting down"));
      return;
    }
    loop_.Post([self = self_, &api, request = std::move(request)]() mutable {
      if (self->ended()) return;
      auto subscription = api.Watch(
          std::move(request), [self](v1::JobStatus status) { self->Push(std::move(status)); },
          [self](absl::Status status) { self->End(std::move(status)); });
      self->Keep(std::move(subscription));
    });
  }

  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
      // The peer is gone: nothing that waits can reach it.
      if (!ok) {
        queue_.clear();
        if (!end_) end_ = absl::CancelledError("the watcher went away");
      }
    }
    Advance();
  }

  void OnCancel() override { Drop(absl::CancelledError("the watcher went away")); }

  void OnDone() override {
    const std::shared_ptr<WatchWriter> last = std::move(self_);
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

  void Push(v1::JobStatus status) {
    {
      const std::lock_guard lock(mutex_);
      if (end_) return;
      if (queue_.size() >= kWatchQueuedMax) queue_.pop_back();
      queue_.push_back(std::move(status));
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
      Finish(ToGrpcStatus(*finish));
    } else {
      StartWrite(&current_);
    }
  }

  env::EventLoop& loop_;
  const std::shared_ptr<OpenCalls> calls_;
  OpenCalls::Key key_ = 0;
  std::shared_ptr<WatchWriter> self_;           // until OnDone
  std::unique_ptr<Subscription> subscription_;  // on the loop
  v1::JobStatus current_;                       // while writing_
  std::mutex mutex_;
  std::deque<v1::JobStatus> queue_;  // guarded by mutex_
  std::optional<absl::Status> end_;  // guarded by mutex_
  bool writing_ = false;             // guarded by mutex_
  bool finished_ = false;            // guarded by mutex_
};

}  // namespace

grpc::ServerWriteReactor<v1::JobStatus>* ServeWatch(const v1::WatchRequest& request,
                                                    env::EventLoop& loop,
                                                    std::shared_ptr<OpenCalls> calls, JobApi& api) {
  auto writer = std::make_shared<WatchWriter>(loop, std::move(calls));
  WatchWriter* reactor = writer.get();
  writer->Start(request, api);
  return reactor;
}

}  // namespace weir::rpc
