#pragma once

// What every process with control state has: one loop, pools, files, entropy, signals.

#include <signal.h>

#include <functional>
#include <optional>
#include <utility>

#include "runtime/app/threads.h"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/env/real/kernel_sources.h"
#include "runtime/env/real/posix_storage.h"

namespace weir::app {

/// The real seams of one process. Pools are drained before the loop goes, because their work posts
/// to it.
struct ControlProcess {
  env::AsioEventLoop loop;
  env::PosixStorage storage;
  env::KernelRandom random;
  env::KernelWallClock wall_clock;
  // Files wait for the disk, planning for a core.
  PoolThreads disk{2};
  PoolThreads compute{1};

  /// Runs `body` as a task of the loop and waits for it.
  void OnLoop(std::function<void()> body) {
    bool done = false;
    loop.Post([&] {
      body();
      done = true;
    });
    loop.RunUntil([&] { return done; });
  }

  /// Starts something that answers later, and waits for the answer.
  template <typename Answer>
  Answer Await(const std::function<void(std::function<void(Answer)>)>& start) {
    std::optional<Answer> answer;
    loop.Post([&] { start([&](Answer got) { answer = std::move(got); }); });
    loop.RunUntil([&] { return answer.has_value(); });
    return *std::move(answer);
  }

  /// Waits until `done` holds, at most for `patience`.
  bool WaitFor(absl::Duration patience, const std::function<bool()>& done) {
    bool late = false;
    std::optional<env::EventLoop::TimerId> timer;
    loop.Post([&] {
      timer = loop.RunAt(loop.Now() + patience, [&] {
        late = true;
        timer.reset();
      });
    });
    loop.RunUntil([&] { return late || (timer && done()); });
    if (timer) loop.CancelTimer(*timer);
    return !late;
  }
};

/// A process that writes to a peer that is gone, or a file beyond the size that it may have (ulimit
/// -f), gets an error, not a death. Programs that it starts have these signals as usual.
inline void IgnoreSignalsOfWrites() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace weir::app
