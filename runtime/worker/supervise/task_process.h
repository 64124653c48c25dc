#pragma once

// One task process as the operating system sees it: start, signal, reap. Upstream: TaskSupervisor.
// Downstream: kernel.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/fd.h"
#include "runtime/worker/supervise/task_options.h"

namespace weir::worker {

/// How a process ended.
struct ProcessEnd {
  int exit_code = 0;
  /// 0 unless a signal ended it.
  int signal = 0;
  /// "exit code 3" or "signal SIGSEGV (Segmentation fault)".
  std::string Describe() const;
};

/// Returns the environment of a task: PATH, HOME, LANG and TZ of `inherited`, and TMPDIR.
std::vector<std::string> TaskEnvironment(
    const std::vector<std::pair<std::string, std::string>>& inherited, const std::string& tmp_dir);

/// Owns a running task process, the leader of a process group of its own.
///
/// The process gets: /dev/null as stdin, one pipe for stdout and stderr, the socket as descriptor 3
/// and no other descriptor; default signal handlers, none blocked; no core files. It must see to
/// it itself that it does not outlive this one.
/// Ownership: a process still running when this is destroyed is killed with its group and awaited,
/// unless it was abandoned.
class TaskProcess {
 public:
  /// Has `options.zygote` fork it, or starts `options.program`, in `directory`.
  /// Errors: kNotFound, kPermissionDenied (program or directory), kResourceExhausted (descriptors,
  ///   processes).
  static absl::StatusOr<TaskProcess> Start(const TaskOptions& options,
                                           const std::string& directory);
  TaskProcess(TaskProcess&& other) noexcept;
  TaskProcess& operator=(TaskProcess&&) = delete;
  ~TaskProcess();

  /// Non-blocking stream socket to the process.
  const Fd& socket() const { return socket_; }
  /// Non-blocking read end of its stdout and stderr.
  const Fd& output() const { return output_; }
  /// Readable once the process has ended.
  const Fd& pidfd() const { return pidfd_; }
  pid_t pid() const { return pid_; }

  /// Sends a signal to the process, and to all it started that have not left its group.
  void SignalGroup(int signal) const;
  /// Kills what is left of the group and collects the process. Requires: pidfd() is readable, or
  /// the call blocks until the process ends.
  ProcessEnd Reap();
  /// Kills the group, and leaves the process to whoever collects it: its end is not awaited.
  void Abandon();
  /// Whether the process has ended, and Reap will not wait.
  bool ended() const;

 private:
  TaskProcess(pid_t pid, Fd pidfd, Fd socket, Fd output)
      : pid_(pid),
        pidfd_(std::move(pidfd)),
        socket_(std::move(socket)),
        output_(std::move(output)) {}

  pid_t pid_ = -1;  // -1 once reaped
  Fd pidfd_;
  Fd socket_;
  Fd output_;
};

}  // namespace weir::worker
