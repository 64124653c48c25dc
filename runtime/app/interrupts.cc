#include "runtime/app/interrupts.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/client/flags/exit_codes.h"

namespace weir::app {

namespace {

bool IsIgnored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) != 0 || now.sa_handler == SIG_IGN;
}

}  // namespace

Interrupts::Interrupts(env::AsioEventLoop& loop) : loop_(loop) {
  std::vector<int> signals = {SIGINT, SIGTERM};
  // Under nohup a terminal that goes is no reason to end.
  if (!IsIgnored(SIGHUP)) signals.push_back(SIGHUP);
  const absl::Status watching = loop.OnSignals(signals, [this](int number) { OnSignal(number); });
  if (!watching.ok()) {
    LogWarning("Signals are not watched", {{"error", std::string(watching.message())}});
  }
}

void Interrupts::Listen(std::function<void()> listener) {
  listener_ = std::move(listener);
  if (!listener_ || waiting_ == 0) return;
  waiting_ = 0;
  loop_.Post([this] {
    if (listener_) listener_();
  });
}

void Interrupts::OnSignal(int) {
  constexpr int kPatience = 3;
  if (++seen_ >= kPatience) ::_exit(client::kExitInterrupted);
  if (!listener_) {
    ++waiting_;
    return;
  }
  // The listener may replace itself while it runs.
  const auto listener = listener_;
  listener();
}

void StopTogether(env::AsioEventLoop& loop, std::function<void(int signal)> signal_tasks) {
  if (IsIgnored(SIGTSTP)) return;
  const absl::Status watching =
      loop.OnSignals({SIGTSTP}, [&loop, signal_tasks = std::move(signal_tasks)](int) {
        signal_tasks(SIGTSTP);
        const MonoTime stopped = loop.Now();
        // To this thread: the call returns when the process goes on, not before.
        ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), SIGSTOP);
        loop.SkipTime(loop.Now() - stopped);
        signal_tasks(SIGCONT);
      });
  if (!watching.ok()) {
    LogWarning("Ctrl-Z is not watched", {{"error", std::string(watching.message())}});
  }
}

}  // namespace weir::app
