#pragma once

#include <functional>
#include <utility>

#include "runtime/env/real/asio_event_loop.h"

namespace weir::app {

/// Hands Ctrl-C, SIGTERM and, unless it was ignored at the start (nohup), SIGHUP to whoever
/// listens. One that comes while nobody does is kept for the next listener; the third ends the
/// process on the spot, so that no fault of ours can hold the user.
class Interrupts {
 public:
  explicit Interrupts(env::AsioEventLoop& loop);
  /// An empty function keeps what comes.
  void Listen(std::function<void()> listener);

 private:
  void OnSignal(int number);
  env::AsioEventLoop& loop_;
  std::function<void()> listener_;
  int waiting_ = 0;
  int seen_ = 0;
};

/// Makes Ctrl-Z stop what the terminal does not know of, and this process after it.
///
/// The terminal stops the process group in front only; tasks have groups of their own.
/// `signal_tasks` passes SIGTSTP on to them, and SIGCONT when this process is continued. The time
/// between does not count on the loop. Where Ctrl-Z is ignored it stays so.
void StopTogether(env::AsioEventLoop& loop, std::function<void(int signal)> signal_tasks);

}  // namespace weir::app
