#pragma once

#include <functional>
#include <memory>
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
  /// Takes the end of a stream for one more of them, and what comes before it for nothing. It ends
  /// with whoever holds its other end, by SIGKILL too; the kernel's own signal for that
  /// (PR_SET_PDEATHSIG) comes when a thread ends, which need not be its process. The descriptor
  /// stays the caller's, and no longer blocks. Call at most once.
  void EndWith(int stream);

 private:
  void OnInterrupt();
  void AwaitEnd(int stream);
  env::AsioEventLoop& loop_;
  std::unique_ptr<env::FdWatch> stream_watch_;
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
