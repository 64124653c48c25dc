#include "runtime/env/real/blocking_work_pool.h"

#include <utility>

namespace weir::env {
namespace {

thread_local const BlockingWorkPool* serving = nullptr;

}  // namespace

bool BlockingWorkPool::HasRoom() const { return closed_ || queue_.size() < kQueuedMax; }
bool BlockingWorkPool::HasWorkOrClosed() const { return closed_ || !queue_.empty(); }

void BlockingWorkPool::Run(Task work) {
  absl::MutexLock lock(&mutex_);
  if (serving != this) mutex_.Await(absl::Condition(this, &BlockingWorkPool::HasRoom));
  if (!closed_) queue_.push_back(std::move(work));
}

void BlockingWorkPool::Serve() {
  serving = this;
  while (true) {
    Task work;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &BlockingWorkPool::HasWorkOrClosed));
      if (queue_.empty()) break;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
  serving = nullptr;
}

void BlockingWorkPool::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

}  // namespace weir::env
