#pragma once

// Callbacks that must not outlive their owner: replies, timers, work that comes back from a pool.

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "runtime/env/event_loop.h"

namespace weir::env {

/// Makes callbacks that do nothing once it is destroyed. Hold one as the last member of the owner.
/// Thread-safety: Guard, guarded calls and the destructor on one loop.
class CallbackScope {
 public:
  template <typename Function>
  auto Guard(Function function) const {
    return [alive = std::weak_ptr<const bool>(token_),
            function = std::move(function)](auto&&... args) mutable {
      if (!alive.expired()) function(std::forward<decltype(args)>(args)...);
    };
  }

 private:
  std::shared_ptr<const bool> token_ = std::make_shared<const bool>(true);
};

/// Runs `work` on the pool and `done` with its result on the loop. `done` should be guarded.
template <typename Work, typename Done>
void Offload(EventLoop& loop, WorkPool& pool, Work work, Done done) {
  pool.Run([&loop, work = std::move(work), done = std::move(done)]() mutable {
    loop.Post([result = work(), done = std::move(done)]() mutable { done(std::move(result)); });
  });
}

}  // namespace weir::env
