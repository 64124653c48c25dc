#include "runtime/worker/supervise/zygote.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/base/errno_status.h"

namespace weir::worker {
namespace {

// Where a forked process has its socket; its output is 1 and 2.
constexpr int kSocketFd = 3;
// More than a usual environment; what is longer is executed.
constexpr std::size_t kOrderBytesMax = 64 << 10;
constexpr std::size_t kOrderFds = 2;

// Room for the descriptors of one order, aligned as the kernel wants it.
union ControlRoom {
  std::array<char, CMSG_SPACE(kOrderFds * sizeof(int))> bytes;
  cmsghdr aligned;
};

// Strings, each with a zero behind it: directory, number of arguments, arguments, environment.
std::string Packed(const Zygote::Order& order) {
  std::string packed = order.directory + '\0' + std::to_string(order.arguments.size()) + '\0';
  for (const auto* strings : {&order.arguments, &order.environment}) {
    for (const std::string& one : *strings) packed += one + '\0';
  }
  return packed;
}

// Of what Packed made.
Zygote::Order Unpacked(std::string_view packed) {
  std::vector<std::string> strings =
      absl::StrSplit(absl::string_view(packed.data(), packed.size()), '\0');
  strings.pop_back();  // behind the last zero
  const auto num_arguments = static_cast<std::ptrdiff_t>(std::stoul(strings[1]));
  const auto arguments = strings.begin() + 2;
  return {.directory = strings[0],
          .arguments = {arguments, arguments + num_arguments},
          .environment = {arguments + num_arguments, strings.end()}};
}

std::size_t NumThreads() {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/self/task", error);
  return error ? 0 : static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

bool SetAnswerMax(int fd) {
  const timeval most{.tv_sec = Zygote::kAnswerMaxS, .tv_usec = 0};
  return ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0 &&
         ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0;
}

// --- In the zygote and in what it forks, each with one thread. ---

void TakeDefaultSignals() {
  for (int number = 1; number <= SIGRTMAX; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// What a task executes has it too.
void PointAtNothing(int fd, int flags) {
  const int nothing = ::open("/dev/null", flags);
  if (nothing == fd) return;
  ::dup2(nothing, fd);
  ::close(nothing);
}

void CloseFrom(int fd) { ::syscall(SYS_close_range, fd, ~0U, 0); }

// Begins the life of a task as an exec would. Requires: the order's descriptors are above 3.
[[noreturn]] void BeginTask(const Zygote::Order& order, int directory, const ProcessTitle& title,
                            const std::function<int()>& task) {
  ::setpgid(0, 0);
  TakeDefaultSignals();
  PointAtNothing(STDIN_FILENO, O_RDONLY);
  ::dup2(order.output, STDOUT_FILENO);
  ::dup2(order.output, STDERR_FILENO);
  ::dup2(order.socket, kSocketFd);
  if (::fchdir(directory) != 0) ::_exit(EXIT_FAILURE);
  CloseFrom(kSocketFd + 1);
  ::clearenv();
  for (const std::string& variable : order.environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  title.Write(order.arguments, order.environment);
  std::exit(task());
}

// Forks a child of the zygote's parent, who awaits and signals it as any child of its own. The C
// library's fork cannot; what it does beside concerns processes of several threads. Returns the
// negative errno where that failed.
pid_t ForkForParent() {
  const long pid = ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  return pid < 0 ? -errno : static_cast<pid_t>(pid);
}

// Takes the descriptors of a message. They are above those that a task begins with, which the
// zygote has in use.
std::vector<Fd> TakeFds(msghdr& message) {
  std::vector<Fd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

// One order; returns what is answered, or nothing at the end of the line.
std::optional<pid_t> ServeOne(int line, std::string& room, const ProcessTitle& title,
                              const std::function<int()>& task) {
  iovec bytes{.iov_base = room.data(), .iov_len = room.size()};
  ControlRoom control;
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t got = 0;
  while ((got = ::recvmsg(line, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (got <= 0) return std::nullopt;
  const std::vector<Fd> fds = TakeFds(message);
  if (fds.size() != kOrderFds || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return -E2BIG;
  Zygote::Order order = Unpacked({room.data(), static_cast<std::size_t>(got)});
  order.socket = fds[0].get();
  order.output = fds[1].get();
  const Fd directory(::open(order.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return -errno;
  const pid_t pid = ForkForParent();
  if (pid == 0) BeginTask(order, directory.get(), title, task);
  return pid;
}

[[noreturn]] void Serve(int starters_line, const ProcessTitle& title,
                        const std::function<int()>& task) {
  // What ends the starter ends this by the end of the line, once the starter needs it no more.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  // Held here, they would keep others waiting for the end of the starter.
  ::dup2(starters_line, kSocketFd);
  CloseFrom(kSocketFd + 1);
  PointAtNothing(STDIN_FILENO, O_RDONLY);
  PointAtNothing(STDOUT_FILENO, O_WRONLY);
  PointAtNothing(STDERR_FILENO, O_WRONLY);
  // Of the starter's words and environment nothing is for tasks.
  ::clearenv();
  title.Write({"weir", "zygote"}, {});
  std::string room(kOrderBytesMax, '\0');
  while (const std::optional<pid_t> answer = ServeOne(kSocketFd, room, title, task)) {
    if (::send(kSocketFd, &*answer, sizeof *answer, MSG_NOSIGNAL) < 0) break;
  }
  ::_exit(EXIT_SUCCESS);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Zygote>> Zygote::Start(const ProcessTitle& title,
                                                      std::function<int()> task) {
  if (NumThreads() != 1) {
    return absl::FailedPreconditionError("tasks are not forked from a process of several threads");
  }
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return ErrnoStatus(errno, "cannot make the line to a zygote");
  }
  Fd line(ends[0]);
  const Fd others(ends[1]);
  if (!SetAnswerMax(line.get())) return ErrnoStatus(errno, "cannot set up the line to a zygote");
  // Else a task would print once more what is still in them.
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoStatus(errno, "cannot fork a zygote");
  if (pid == 0) Serve(others.get(), title, task);
  return std::unique_ptr<Zygote>(new Zygote(pid, std::move(line)));
}

Zygote::~Zygote() { End(); }

std::optional<pid_t> Zygote::End() {
  if (pid_ < 0) return std::nullopt;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  pid_t said = 0;
  const bool late = ::recv(line_.get(), &said, sizeof said, MSG_DONTWAIT) == sizeof said;
  line_.Reset();
  return late && said > 0 ? std::optional(said) : std::nullopt;
}

std::optional<pid_t> Zygote::Ask(const msghdr& message) {
  ssize_t done = 0;
  while ((done = ::sendmsg(line_.get(), &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  if (done < 0) return End();
  pid_t pid = 0;
  while ((done = ::recv(line_.get(), &pid, sizeof pid, 0)) < 0 && errno == EINTR) {
  }
  if (done != sizeof pid) return End();
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

std::optional<pid_t> Zygote::Fork(const Order& order) {
  std::string packed = Packed(order);
  if (packed.size() > kOrderBytesMax) return std::nullopt;
  const std::array<int, kOrderFds> fds = {order.socket, order.output};
  iovec bytes{.iov_base = packed.data(), .iov_len = packed.size()};
  ControlRoom control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(part), fds.data(), sizeof fds);

  const std::lock_guard lock(mutex_);
  if (!line_.valid()) return std::nullopt;
  const std::optional<pid_t> pid = Ask(message);
  // It does so itself; but who signals the group must find it from here on.
  if (pid) ::setpgid(*pid, *pid);
  return pid;
}

}  // namespace weir::worker
