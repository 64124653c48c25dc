#include "runtime/app/sweeper.h"

#include <linux/close_range.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/env/real/remove_tree.h"
#include "runtime/master/output/output_places.h"

namespace weir::app {
namespace {

// Tasks of the dead process may still write: their guardians end them, which takes a moment.
void RemoveUntilGone(const std::string& path) {
  constexpr int kTries = 50;
  constexpr useconds_t kPauseMicros = 100'000;
  for (int i = 0; i < kTries; ++i) {
    if (env::RemoveTree(path).ok()) return;
    ::usleep(kPauseMicros);
  }
}

// Paths, each with a sign before it and a zero behind it, until the other process is gone.
std::set<std::string> ReadUntilEnd(int fd) {
  std::set<std::string> watched;
  std::string message;
  char bytes[4096];
  while (true) {
    const ssize_t got = ::read(fd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return watched;
    for (ssize_t i = 0; i < got; ++i) {
      if (bytes[i] != '\0') {
        message.push_back(bytes[i]);
        continue;
      }
      if (message.starts_with('+')) watched.insert(message.substr(1));
      if (message.starts_with('-')) watched.erase(message.substr(1));
      message.clear();
    }
  }
}

[[noreturn]] void Sweep(int line) {
  // What ends or stops the run and its group must not reach this one.
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) ::signal(number, SIG_IGN);
  // Held here, they would keep others waiting for the end of the run.
  ::dup2(line, 0);
  ::syscall(SYS_close_range, 1, ~0U, 0);
  [[maybe_unused]] const int moved = ::chdir("/");
  for (const std::string& path : ReadUntilEnd(0)) RemoveUntilGone(path);
  ::_exit(0);
}

}  // namespace

Sweeper::Sweeper() {
  // A pair of sockets, since they are closed by an exec without the flags of <fcntl.h>.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  const Fd read_end(ends[0]);
  line_.Reset(ends[1]);
  pid_ = ::fork();
  if (pid_ == 0) Sweep(read_end.get());
}

Sweeper::~Sweeper() {
  line_.Reset();
  if (pid_ <= 0) return;
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Sweeper::Tell(char what, const std::string& path) {
  if (!line_.valid() || !path.starts_with('/')) return;
  const std::lock_guard lock(mutex_);
  const std::string message = absl::StrCat(std::string(1, what), path, std::string(1, '\0'));
  [[maybe_unused]] const ssize_t written =
      ::send(line_.get(), message.data(), message.size(), MSG_NOSIGNAL);
}

absl::Status SweptStorage::MakeDirectory(const std::string& path) {
  absl::Status made = PosixStorage::MakeDirectory(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  if (made.ok() && absl::StrContains(name, master::kStagingInfix)) sweeper_.Watch(path);
  return made;
}

// What is moved away is watched no more, and never what is behind its name then: an output that is
// replaced lies there.
absl::Status SweptStorage::Rename(const std::string& from, const std::string& to) {
  sweeper_.Forget(from);
  return PosixStorage::Rename(from, to);
}

absl::Status SweptStorage::Exchange(const std::string& a, const std::string& b) {
  sweeper_.Forget(a);
  sweeper_.Forget(b);
  return PosixStorage::Exchange(a, b);
}

}  // namespace weir::app
