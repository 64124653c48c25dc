#include "runtime/worker/supervise/task_processes.h"

#include <csignal>
#include <utility>

namespace weir::worker {

TaskProcesses::TaskProcesses(TaskOptions options, env::EventLoop& loop, env::FdWatcher& fds)
    : options_(std::move(options)), loop_(loop), fds_(fds) {}

std::unique_ptr<JobTask> TaskProcesses::MakeTask(JobTask::Listener listener) {
  return std::make_unique<TaskSupervisor>(options_, loop_, fds_, std::move(listener), groups_);
}

void TaskProcesses::SignalAll(int signal) const {
  for (const int group : *groups_) ::kill(-group, signal);
}

}  // namespace weir::worker
