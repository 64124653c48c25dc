#include "runtime/reduce/combine_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace weir::reduce {

CombineThread::CombineThread() : done_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CombineThread::~CombineThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_or_end_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void CombineThread::Start(std::function<void()> work) {
  // Nothing could tell when another thread is done with it.
  if (!done_.valid()) return work();
  busy_ = true;
  {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
  }
  if (!thread_.joinable() && !StartThread()) {
    // Later, but done: the next piece tries again.
    DoWork(std::exchange(work_, nullptr));
    return;
  }
  work_or_end_.notify_one();
}

bool CombineThread::StartThread() {
  try {
    thread_ = std::thread([this] { Serve(); });
    return true;
  } catch (const std::system_error&) {
    return false;  // this user, or its control group, has no more threads
  }
}

void CombineThread::DoWork(const std::function<void()>& work) {
  work();
  const std::uint64_t one = 1;
  static_cast<void>(!::write(done_.get(), &one, sizeof one));
}

void CombineThread::Serve() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      work_or_end_.wait(lock, [&] { return ending_ || work_; });
      if (!work_) return;
      work = std::exchange(work_, nullptr);
    }
    DoWork(work);
  }
}

bool CombineThread::Taken() {
  std::uint64_t count = 0;
  if (::read(done_.get(), &count, sizeof count) != sizeof count) return false;
  busy_ = false;
  return true;
}

void CombineThread::Finish() {
  while (busy_ && !Taken()) {
    pollfd poll = {done_.get(), POLLIN, 0};
    static_cast<void>(::poll(&poll, 1, -1));
  }
}

}  // namespace weir::reduce
