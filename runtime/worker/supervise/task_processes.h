#pragma once

// Task processes of this machine for WorkerJob. Upstream: runtime/app. Downstream: TaskSupervisor.

#include <memory>

#include "runtime/env/event_loop.h"
#include "runtime/worker/supervise/task_options.h"
#include "runtime/worker/supervise/task_supervisor.h"
#include "runtime/worker/task_launcher.h"

namespace weir::worker {

/// Gives each job a process of its own. `loop` and `fds` must outlive it and its tasks.
class TaskProcesses final : public TaskLauncher {
 public:
  TaskProcesses(TaskOptions options, env::EventLoop& loop, env::FdWatcher& fds);
  std::unique_ptr<JobTask> MakeTask(JobTask::Listener listener) override;
  /// Sends a signal to the process groups of all tasks. On the loop.
  void SignalAll(int signal) const;

 private:
  const TaskOptions options_;
  env::EventLoop& loop_;
  env::FdWatcher& fds_;
  const std::shared_ptr<TaskGroups> groups_ = std::make_shared<TaskGroups>();
};

}  // namespace weir::worker
