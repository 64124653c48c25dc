#pragma once

// A process that has loaded the program and forks each task from itself: executing it anew links
// and relocates two dozen libraries, which takes longer than most steps of a small job.
// Upstream: runtime/app starts it, TaskProcess asks it. Downstream: kernel.

#include <sys/socket.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/fd.h"
#include "runtime/worker/supervise/process_title.h"

namespace weir::worker {

/// Forks processes that are children of this one, as if it had executed its program again.
///
/// A process that it makes begins with: the order's descriptors as 1, 2 and 3, /dev/null as 0 and
/// no other; the order's directory, environment and title; a process group of its own; default
/// signal handlers, none blocked. It shares the layout of its memory with all others of one zygote,
/// and of what its starter had in memory before Start it has a copy. Failure semantics: the zygote
/// ends when its starter does, whatever ends that. One that is killed,
///   or does not answer for kAnswerMaxS, is ended, and Fork says so each time; tasks live on.
/// Thread-safety: Fork may be called from any thread.
/// Checked by: tests/unit/worker/zygote_test.cc; docs/adr/0057-tasks-are-forked-from-a-zygote.md.
class Zygote {
 public:
  static constexpr int kAnswerMaxS = 5;  // seconds

  /// `task`: what a forked process does; it ends with the exit code that this returns.
  /// Errors: kFailedPrecondition (this process has several threads, whose locks a copy would
  ///   inherit), kResourceExhausted (descriptors, processes).
  static absl::StatusOr<std::unique_ptr<Zygote>> Start(const ProcessTitle& title,
                                                       std::function<int()> task);
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;
  ~Zygote();

  /// What one process begins with. Descriptors stay the caller's.
  struct Order {
    int socket = -1;  // becomes its descriptor 3
    int output = -1;  // becomes 1 and 2
    std::string directory;
    std::vector<std::string> arguments;    // what ps shows
    std::vector<std::string> environment;  // NAME=VALUE
  };
  /// Returns the new process, the leader of its group. Nothing: there is none, for whatever reason;
  /// executing the program instead will work, or say why it cannot.
  std::optional<pid_t> Fork(const Order& order);

 private:
  Zygote(pid_t pid, Fd line) : pid_(pid), line_(std::move(line)) {}
  // Both require: mutex_ is held, or nobody else is left.
  std::optional<pid_t> Ask(const msghdr& message);
  // Ends it, whatever it does; returns what it forked and had not said yet.
  std::optional<pid_t> End();

  std::mutex mutex_;
  pid_t pid_;  // -1 once it has ended
  Fd line_;
};

}  // namespace weir::worker
