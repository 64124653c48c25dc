#include "runtime/app/task_guardian.h"

#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace weir::app {
namespace {

// Where the guardian has what it watches.
constexpr int kDaemon = 0;
constexpr int kTask = 1;

// The C library's header for this does not serve C++.
int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// Forks a child whose end the kernel tells nobody by a signal. What waits for all children, as user
// code does that starts some, does not wait for such a one unless it says so (__WALL): else it
// would wait for the guardian, which waits for it. What the C library's fork does beside concerns
// processes of several threads.
pid_t ForkUnawaited() {
  constexpr unsigned long kNoSignal = 0;
  return static_cast<pid_t>(syscall(SYS_clone, kNoSignal, nullptr, nullptr, nullptr, nullptr));
}

// Async-signal-safe calls only: this runs after a fork. Requires: all signals are blocked.
[[noreturn]] void Guard(int daemon_pidfd, int task_pidfd) {
  // An end of the socket or the output pipe held here would hide the task's end from the daemon.
  dup2(daemon_pidfd, kDaemon);
  dup2(task_pidfd, kTask);
  syscall(SYS_close_range, kTask + 1, ~0U, 0);
  pollfd watched[2] = {{.fd = kDaemon, .events = POLLIN, .revents = 0},
                       {.fd = kTask, .events = POLLIN, .revents = 0}};
  while (poll(watched, 2, -1) < 0 && errno == EINTR) {
  }
  // User code may have led the task out of its group.
  syscall(SYS_pidfd_send_signal, kTask, SIGKILL, nullptr, 0);
  kill(0, SIGKILL);
  _exit(0);
}

}  // namespace

void StartTaskGuardian() {
  const int daemon_pidfd = OpenPidfd(getppid());
  const int task_pidfd = OpenPidfd(getpid());
  // The daemon ends a group politely first, a terminal's Ctrl-Z stops it, and user code may tell
  // its group something by any signal: the guardian stays and goes on until the end.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  if (daemon_pidfd >= 3 && task_pidfd >= 3 && ForkUnawaited() == 0) {
    Guard(daemon_pidfd, task_pidfd);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (daemon_pidfd >= 0) close(daemon_pidfd);
  if (task_pidfd >= 0) close(task_pidfd);
}

}  // namespace weir::app
