#include "runtime/app/module_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/app/machine.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/task_frame.h"
#include "runtime/base/valid_utf8.h"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/worker/supervise/output_tail.h"
#include "runtime/worker/supervise/task_process.h"

namespace weir::app {
namespace {

// A process that closes its line ends a moment later, unless only the line went.
constexpr absl::Duration kEndAfterClose = absl::Seconds(2);
// What waits for a disk does not die when it is killed, perhaps never: nobody waits for it longer.
constexpr absl::Duration kKillPatience = absl::Seconds(2);

// For poll, which waits for no more than a minute at once.
int PollMs(absl::Duration at_most) {
  return static_cast<int>(std::min<std::int64_t>(absl::ToInt64Milliseconds(at_most) + 1, 60'000));
}

class Conversation {
 public:
  Conversation(worker::TaskProcess process, const std::string& path)
      : process_(std::move(process)), path_(path) {}
  ~Conversation() {
    process_.SignalGroup(SIGKILL);
    if (!AwaitEnd(kKillPatience)) process_.Abandon();
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  absl::StatusOr<v1::ModuleAnswer> Ask(const v1::ModuleRequest& request, absl::Duration at_most) {
    if (absl::Status framed = AppendTaskFrame(request, unsent_); !framed.ok()) return framed;
    const MonoTime give_up = clock_.Now() + at_most;
    v1::ModuleAnswer answer;
    while (true) {
      const absl::StatusOr<bool> whole = reader_.Next(answer);
      // What the process sends is the module's to forge.
      if (!whole.ok()) return Ended(job_error::kModuleCrashed, "answered nonsense");
      if (*whole) return Checked(std::move(answer));
      const absl::Duration left = give_up - clock_.Now();
      if (left <= absl::ZeroDuration()) {
        return Ended(job_error::kModuleHung,
                     absl::StrCat("did not answer within ", absl::FormatDuration(at_most)));
      }
      // Not in the middle of a frame: whatever the process had to say is read by now.
      if (!open_) return Closed(left);
      Turn(left);
    }
  }

 private:
  void Turn(absl::Duration at_most) {
    const short to_send = unsent_.empty() ? 0 : POLLOUT;
    std::array<pollfd, 2> polled = {
        pollfd{.fd = process_.socket().get(),
               .events = static_cast<short>(POLLIN | to_send),
               .revents = 0},
        pollfd{.fd = output_open_ ? process_.output().get() : -1, .events = POLLIN, .revents = 0}};
    if (::poll(polled.data(), polled.size(), PollMs(at_most)) < 0) {
      return;  // a signal: the deadline is looked at again
    }
    if ((polled[0].revents & POLLOUT) != 0) SendSome();
    if ((polled[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) ReceiveSome();
    if (polled[1].revents != 0) ReadOutput();
  }

  void SendSome() {
    const ssize_t sent =
        ::send(process_.socket().get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EINTR && errno != EAGAIN) unsent_.clear();  // its end is read
  }

  void ReceiveSome() {
    std::array<char, 64 << 10> bytes;
    const ssize_t got = ::recv(process_.socket().get(), bytes.data(), bytes.size(), 0);
    if (got > 0) return reader_.Append({bytes.data(), static_cast<std::size_t>(got)});
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    open_ = false;
  }

  void ReadOutput() {
    std::array<char, 16 << 10> bytes;
    const ssize_t got = ::read(process_.output().get(), bytes.data(), bytes.size());
    if (got > 0) return tail_.Append({bytes.data(), static_cast<std::size_t>(got)});
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    output_open_ = false;
  }

  absl::StatusOr<v1::ModuleAnswer> Checked(v1::ModuleAnswer answer) {
    if (!answer.has_error()) return answer;
    const auto code = answer.error().code() == job_error::kInternal
                          ? absl::StatusCode::kInternal
                          : absl::StatusCode::kInvalidArgument;
    return StatusFromJobError(code, answer.error());
  }

  // Whether it has ended, which is waited for. What it writes is read: it may wait for room.
  bool AwaitEnd(absl::Duration at_most) {
    const MonoTime give_up = clock_.Now() + at_most;
    while (!process_.ended()) {
      const absl::Duration left = give_up - clock_.Now();
      if (left <= absl::ZeroDuration()) return false;
      std::array<pollfd, 2> polled = {
          pollfd{.fd = process_.pidfd().get(), .events = POLLIN, .revents = 0},
          pollfd{
              .fd = output_open_ ? process_.output().get() : -1, .events = POLLIN, .revents = 0}};
      if (::poll(polled.data(), polled.size(), PollMs(left)) > 0 && polled[1].revents != 0) {
        ReadOutput();
      }
    }
    return true;
  }

  // It cannot answer any more. `left`: until it should have.
  absl::Status Closed(absl::Duration left) {
    if (!AwaitEnd(std::min(left, kEndAfterClose))) {
      return Ended(job_error::kModuleCrashed,
                   "closed descriptor 3, by which the process that loaded it answers, but went on "
                   "running");
    }
    const worker::ProcessEnd end = process_.Reap();
    return Ended(job_error::kModuleCrashed,
                 absl::StrCat("ended the process that loaded it, by ", end.Describe()));
  }

  absl::Status Ended(std::string_view code, const std::string& what) {
    process_.SignalGroup(SIGKILL);
    for (int reads = 0; output_open_ && reads < 64; ++reads) ReadOutput();
    v1::JobError error =
        MakeJobError(code, absl::StrCat("module ", path_, " ", what),
                     "look at its static constructors and at what its JobDefinitions do");
    error.set_stderr_tail(
        ValidUtf8(tail_.Last(static_cast<std::size_t>(limits::kStderrTailBytes))));
    return StatusFromJobError(absl::StatusCode::kInvalidArgument, error);
  }

  worker::TaskProcess process_;
  const std::string& path_;
  const env::AsioEventLoop clock_;  // its Now is the process's steady clock
  std::string unsent_;
  TaskFrameReader reader_;
  worker::OutputTail tail_{static_cast<std::size_t>(limits::kStderrTailBytes)};
  bool open_ = true;
  bool output_open_ = true;
};

}  // namespace

absl::StatusOr<v1::ModuleAnswer> AskModule(const v1::ModuleRequest& request,
                                           absl::Duration at_most) {
  worker::TaskOptions options;
  options.arguments = {"weir", "task", "--module", "--fd", "3"};
  options.environment = WholeEnvironment();
  auto process = worker::TaskProcess::Start(options, TemporaryDirectory(""));
  if (!process.ok()) return process.status();
  return Conversation(*std::move(process), request.path()).Ask(request, at_most);
}

}  // namespace weir::app
