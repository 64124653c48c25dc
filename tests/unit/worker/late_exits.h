#pragma once

// Processes whose end nobody hears of for a while, as of those that a disk keeps from dying.

#include <sys/wait.h>

#include <memory>
#include <set>
#include <utility>

#include "runtime/env/event_loop.h"

namespace weir::worker {

/// Watches for `fds`, but withholds the ends of processes until Come is called. On the loop only.
class LateExits final : public env::FdWatcher {
 public:
  explicit LateExits(env::FdWatcher& fds) : fds_(fds) {}

  absl::StatusOr<std::unique_ptr<env::FdWatch>> Watch(int fd) override {
    absl::StatusOr<std::unique_ptr<env::FdWatch>> watch = fds_.Watch(fd);
    siginfo_t info{};
    const auto id = static_cast<id_t>(fd);
    const bool is_process = waitid(P_PIDFD, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (!watch.ok() || !is_process) return watch;
    return std::make_unique<Exit>(late_, *std::move(watch));
  }
  /// Has all ends be heard of that have come, and those that come.
  void Come() {
    late_->come = true;
    for (Exit* exit : late_->exits) exit->Come();
  }

 private:
  class Exit;
  // Shared, since a watch may go with the loop, later than this.
  struct Late {
    std::set<Exit*> exits;
    bool come = false;
  };

  class Exit final : public env::FdWatch {
   public:
    Exit(std::shared_ptr<Late> late, std::unique_ptr<env::FdWatch> watch)
        : late_(std::move(late)), watch_(std::move(watch)) {
      late_->exits.insert(this);
    }
    ~Exit() override { late_->exits.erase(this); }
    void OnceReadable(env::Task task) override {
      task_ = std::move(task);
      if (late_->come) Come();
    }
    void OnceWritable(env::Task task) override { watch_->OnceWritable(std::move(task)); }
    void Come() {
      if (task_) watch_->OnceReadable(std::exchange(task_, nullptr));
    }

   private:
    const std::shared_ptr<Late> late_;
    const std::unique_ptr<env::FdWatch> watch_;
    env::Task task_;
  };

  env::FdWatcher& fds_;
  const std::shared_ptr<Late> late_ = std::make_shared<Late>();
};

}  // namespace weir::worker
