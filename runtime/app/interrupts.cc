#include "runtime/app/interrupts.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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
  const absl::Status watching = loop.OnSignals(signals, [this](int) { OnInterrupt(); });
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

void Interrupts::EndWith(int stream) {
  loop_.Post([this, stream] {
    auto watch = loop_.Watch(stream);
    if (!watch.ok()) {
      LogWarning("The end of a stream is not watched",
                 {{"error", std::string(watch.status().message())}});
      return;
    }
    stream_watch_ = *std::move(watch);
    AwaitEnd(stream);
  });
}

void Interrupts::AwaitEnd(int stream) {
  stream_watch_->OnceReadable([this, stream] {
    std::array<char, 4096> ignored;
    const ssize_t got = ::read(stream, ignored.data(), ignored.size());
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) {
      AwaitEnd(stream);
      return;
    }
    // An error is an end too: nothing will come any more.
    stream_watch_.reset();
    OnInterrupt();
  });
}

void Interrupts::OnInterrupt() {
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
