#pragma once

// Work that waits in a pool and may be given up until it begins.

#include <atomic>
#include <memory>
#include <utility>

#include "runtime/env/event_loop.h"

namespace weir::env {

/// Whether work has begun, or was given up before: never both.
/// Thread-safety: safe.
class PoolTurn {
 public:
  /// For the pool, when the work's turn has come. False: it was given up; there is nothing to do.
  bool Begin() { return Leave(State::kBegun); }
  /// For whom gave it to the pool. True: it never begins. False: it has, or was withdrawn before.
  bool Withdraw() { return Leave(State::kWithdrawn); }
  bool has_begun() const { return state_ == State::kBegun; }

 private:
  enum class State { kWaiting, kBegun, kWithdrawn };
  bool Leave(State to) {
    State waiting = State::kWaiting;
    return state_.compare_exchange_strong(waiting, to);
  }
  std::atomic<State> state_ = State::kWaiting;
};

/// As Offload, of work that can be withdrawn: then nothing more is called. `begun` on the loop as
/// soon as it has begun, before `done`; both should be guarded.
/// Checked by: tests/unit/env/pool_turn_test.cc.
template <typename Work, typename Begun, typename Done>
std::shared_ptr<PoolTurn> OffloadInTurn(EventLoop& loop, WorkPool& pool, Work work, Begun begun,
                                        Done done) {
  auto turn = std::make_shared<PoolTurn>();
  pool.Run([&loop, turn, work = std::move(work), begun = std::move(begun),
            done = std::move(done)]() mutable {
    if (!turn->Begin()) return;
    loop.Post(std::move(begun));
    loop.Post([result = work(), done = std::move(done)]() mutable { done(std::move(result)); });
  });
  return turn;
}

}  // namespace weir::env
