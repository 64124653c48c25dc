#include "runtime/app/init_process.h"

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

namespace weir::app {
namespace {

int ExitCodeOf(int status) {
  constexpr int kEndedBySignal = 128;  // as shells say it
  return WIFSIGNALED(status) ? kEndedBySignal + WTERMSIG(status) : WEXITSTATUS(status);
}

// Collects all that have ended; returns the status of `child` once it is among them.
std::optional<int> Collect(pid_t child) {
  std::optional<int> found;
  int status = 0;
  for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == child) found = status;
  }
  return found;
}

[[noreturn]] void ServeAsInit(pid_t child, const sigset_t& awaited) {
  while (true) {
    siginfo_t told = {};
    const int number = ::sigwaitinfo(&awaited, &told);
    if (number < 0) continue;  // it was stopped and goes on
    if (number == SIGCHLD) {
      if (const std::optional<int> status = Collect(child)) ::_exit(ExitCodeOf(*status));
      continue;
    }
    // Of keys a terminal tells the whole group, the child included; that it hangs up, only its
    // session's leader.
    if (told.si_code != SI_KERNEL || number == SIGHUP) ::kill(child, number);
  }
}

}  // namespace

void GoBehindInit(const worker::ProcessTitle& title) {
  if (::getpid() != 1) return;
  // Ignored, it would collect the child before anybody could ask for its status.
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t awaited;
  sigset_t before;
  ::sigemptyset(&awaited);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::sigaddset(&awaited, number);
  ::sigprocmask(SIG_BLOCK, &awaited, &before);
  const pid_t child = ::fork();
  if (child > 0) {
    // Nothing of them is needed here.
    ::clearenv();
    title.Write({"weir", "init"}, {});
    ServeAsInit(child, awaited);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace weir::app
