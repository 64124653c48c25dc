#pragma once

// Runs one job's task process and makes sure that it ends. Upstream: WorkerJob (orders), through
// JobTask. Downstream: TaskProcess, TaskChannel.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "runtime/env/event_loop.h"
#include "runtime/worker/supervise/control_group.h"
#include "runtime/worker/supervise/output_tail.h"
#include "runtime/worker/supervise/task_liveness.h"
#include "runtime/worker/supervise/task_options.h"
#include "runtime/worker/supervise/task_process.h"
#include "runtime/worker/task_launcher.h"
#include "weir/v1/steps.pb.h"

namespace weir::worker {

/// Process groups of living tasks, by the process ids of their leaders.
using TaskGroups = std::set<int>;

/// Starts one task process, hands it one step at a time, and watches it.
///
/// Whatever the process does - crash, leave early, hang, ignore signals, flood its output, send
/// garbage, never come up - ends in one call of on_failed with a named error, after which the
/// process and its group are gone, but for one that the kernel does not let die (ended). Which
/// limit cut it off is in TaskOptions: start_timeout until Ready, liveness while a step runs,
/// kill_grace between SIGTERM and SIGKILL, and between SIGKILL and on_failed.
/// Thread-safety: on the loop only. Callbacks come from the loop, never inside a call to this; they
///   may call this, but not destroy it.
/// Ownership: destruction kills the process and waits for it; Stop first to avoid the wait.
///   One that has not ended kill_grace after a SIGKILL is left behind.
/// Checked by: tests/unit/worker/task_supervisor_test.cc, with real processes.
class TaskSupervisor final : public JobTask {
 public:
  /// Its process group is in `groups` as long as it exists.
  TaskSupervisor(TaskOptions options, env::EventLoop& loop, env::FdWatcher& fds, Listener listener,
                 std::shared_ptr<TaskGroups> groups = nullptr);
  ~TaskSupervisor() override;

  /// Errors: as TaskProcess::Start.
  absl::Status Start(const std::string& directory, const v1::TaskCommand::Start& start) override;
  absl::Status Run(v1::TaskCommand::Run run) override;
  /// Ends the process by Stop, SIGTERM and SIGKILL in turn.
  void Stop(env::Task done) override;
  bool ended() const override { return state_ == State::kNew || state_ == State::kGone; }

  std::optional<Progress> progress() const override;
  std::string OutputTailBytes(std::size_t bytes_max) const override {
    return output_.Last(bytes_max);
  }
  /// Of the process; for tests and logs. -1 when there is none.
  int pid() const;

 private:
  // kLingering: killed and told of, but not dead yet.
  enum class State { kNew, kStarting, kIdle, kRunning, kLingering, kStopping, kGone };
  struct Parts;

  void AwaitReady(absl::Duration timeout, int looks_left);
  void OnEvent(v1::TaskEvent event);
  void OnReady();
  void OnProgress(const v1::TaskEvent::Progress& progress);
  void OnResult(v1::StepResult result);
  void OnChannelEnd(const absl::Status& status);
  void OnExit();
  void ReadOutput(int turns_max);
  void WatchOutput();
  void WatchExit();
  void LookAtStep();
  void Condemn(v1::JobError cause);
  v1::JobError CauseOf(const ProcessEnd& end) const;
  std::optional<v1::JobError> OutOfMemory(const std::string& when, const ProcessEnd& end) const;
  void Arm(absl::Duration delay, env::Task task);
  void Disarm();

  const TaskOptions options_;
  env::EventLoop& loop_;
  env::FdWatcher& fds_;
  Listener listener_;
  State state_ = State::kNew;
  const std::shared_ptr<TaskGroups> groups_;
  std::unique_ptr<Parts> parts_;
  OutputTail output_;
  OomKills oom_kills_before_;
  v1::StepOrder order_;
  Progress progress_;
  std::int64_t output_bytes_done_ = 0;
  bool io_said_ = false;  // since the last look
  std::optional<TaskLiveness> liveness_;
  // Why the process was, or is about to be, ended by us or by its own word.
  std::optional<v1::JobError> cause_;
  bool killed_in_vain_ = false;  // so far
  env::Task stopped_;
  std::optional<env::EventLoop::TimerId> timer_;
};

}  // namespace weir::worker
