#pragma once

// The promise of rpc::Reply in one place: one answer, at the latest at the deadline, on the
// caller's loop. Shared by the carriers (in_process, grpc).

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"

namespace weir::rpc {

/// A reply that is owed. Whichever comes first, an answer or the deadline, is handed on; the other
/// is dropped. Everything on `loop` only, except PostAnswer.
template <typename Response>
class PendingReply : public std::enable_shared_from_this<PendingReply<Response>> {
 public:
  static std::shared_ptr<PendingReply> Start(env::EventLoop& loop, absl::Duration timeout,
                                             const char* method, Reply<Response> reply) {
    std::shared_ptr<PendingReply> pending(new PendingReply(loop, std::move(reply)));
    pending->timer_ = loop.RunAt(loop.Now() + timeout, [pending, timeout, method] {
      pending->reply_due_ = false;
      auto answer = std::move(pending->reply_);
      answer(absl::DeadlineExceededError(
          absl::StrCat(method, ": no answer within ", absl::FormatDuration(timeout))));
    });
    return pending;
  }

  /// Hands the answer on unless the deadline was first.
  void Answer(absl::StatusOr<Response> response) {
    if (!reply_due_) return;
    reply_due_ = false;
    loop_.CancelTimer(timer_);
    auto answer = std::move(reply_);
    answer(std::move(response));
  }

  /// Answers from any thread.
  void PostAnswer(absl::StatusOr<Response> response) {
    loop_.Post([self = this->shared_from_this(), response = std::move(response)]() mutable {
      self->Answer(std::move(response));
    });
  }

 private:
  PendingReply(env::EventLoop& loop, Reply<Response> reply)
      : loop_(loop), reply_(std::move(reply)) {}

  env::EventLoop& loop_;
  Reply<Response> reply_;
  bool reply_due_ = true;
  env::EventLoop::TimerId timer_ = 0;
};

}  // namespace weir::rpc
