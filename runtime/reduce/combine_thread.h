#pragma once

// The thread that combines while the caller's moves data. Upstream: member_call.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/base/fd.h"

namespace weir::reduce {

/// Runs one piece of work at a time; its thread starts with the first. Where no thread is to be had
/// the caller's does the work, within Start; so it does where this process had no descriptor left
/// for the end of the work, and is done with it then: busy() is false.
///
/// Thread-safety: one other thread uses it. What that thread wrote before Start is seen by the
/// work,
///   and what the work wrote is seen after Taken.
class CombineThread {
 public:
  CombineThread();
  ~CombineThread();
  CombineThread(const CombineThread&) = delete;
  CombineThread& operator=(const CombineThread&) = delete;

  /// Requires: nothing is under way. It is done already where busy() is false afterwards.
  void Start(std::function<void()> work);
  bool busy() const { return busy_; }
  /// Readable once the work is done, until Taken.
  int done_fd() const { return done_.get(); }
  /// Returns whether work was done since Start; busy() is then false.
  bool Taken();
  /// Waits for what is under way.
  void Finish();

 private:
  void Serve();
  bool StartThread();
  void DoWork(const std::function<void()>& work);

  Fd done_;
  bool busy_ = false;  // of the other thread
  std::mutex mutex_;
  std::condition_variable work_or_end_;
  std::function<void()> work_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace weir::reduce
