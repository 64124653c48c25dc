#include "runtime/env/real/blocking_work_pool.h"

#include <utility>

namespace weir::env {
namespace {

thread_local const BlockingWorkPool* serving = nullptr;

}  // namespace

void BlockingWorkPool::Run(Task work) {
  std::unique_lock lock(mutex_);
  if (serving != this) {
    room_or_closed_.wait(lock, [this] { return closed_ || queue_.size() < kQueuedMax; });
  }
  if (closed_) return;
  queue_.push_back(std::move(work));
  work_or_closed_.notify_one();
}

void BlockingWorkPool::Serve() {
  serving = this;
  while (true) {
    Task work;
    {
      std::unique_lock lock(mutex_);
      work_or_closed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) break;
      work = std::move(queue_.front());
      queue_.pop_front();
      room_or_closed_.notify_one();
    }
    work();
  }
  serving = nullptr;
}

void BlockingWorkPool::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  room_or_closed_.notify_all();
  work_or_closed_.notify_all();
}

}  // namespace weir::env
