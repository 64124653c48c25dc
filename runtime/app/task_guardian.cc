#include "runtime/app/task_guardian.h"

#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace weir::app {
namespace {

// The C library's header for this does not serve C++.
int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// Async-signal-safe calls only: this runs after a fork.
[[noreturn]] void Guard(int daemon_pidfd, int task_pidfd) {
  // The daemon ends a group politely first; the guardian stays until the end.
  signal(SIGTERM, SIG_IGN);
  // Nor may it stand still with the task: a stopped guardian guards nothing.
  signal(SIGTSTP, SIG_IGN);
  // An end of the socket or the output pipe held here would hide the task's end from the daemon.
  dup2(daemon_pidfd, 0);
  dup2(task_pidfd, 1);
  syscall(SYS_close_range, 2, ~0U, 0);
  pollfd watched[2] = {{.fd = 0, .events = POLLIN, .revents = 0},
                       {.fd = 1, .events = POLLIN, .revents = 0}};
  while (poll(watched, 2, -1) < 0 && errno == EINTR) {
  }
  kill(0, SIGKILL);
  _exit(0);
}

}  // namespace

void StartTaskGuardian() {
  const int daemon_pidfd = OpenPidfd(getppid());
  const int task_pidfd = OpenPidfd(getpid());
  if (daemon_pidfd >= 3 && task_pidfd >= 3 && fork() == 0) Guard(daemon_pidfd, task_pidfd);
  if (daemon_pidfd >= 0) close(daemon_pidfd);
  if (task_pidfd >= 0) close(task_pidfd);
}

}  // namespace weir::app
