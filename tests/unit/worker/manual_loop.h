#pragma once

// An event loop whose time stands still until a test moves it, and a disk pool that works at once
// or when a test says so.

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "runtime/env/event_loop.h"

namespace weir::worker {

class ManualLoop final : public env::EventLoop {
 public:
  MonoTime Now() const override { return now_; }
  void Post(env::Task task) override { posted_.push_back(std::move(task)); }
  TimerId RunAt(MonoTime when, env::Task task) override {
    const TimerId id = ++last_timer_;
    timers_.emplace(std::pair(when, id), std::move(task));
    return id;
  }
  void CancelTimer(TimerId timer) override {
    std::erase_if(timers_, [timer](const auto& entry) { return entry.first.second == timer; });
  }
  bool IsCurrent() const override { return true; }

  /// Runs what is posted, and what that posts, without letting time pass.
  void Settle() {
    while (!posted_.empty()) {
      env::Task task = std::move(posted_.front());
      posted_.pop_front();
      task();
    }
  }
  /// Lets time pass, stopping at each timer on the way.
  void Advance(absl::Duration duration) {
    const MonoTime end = now_ + duration;
    Settle();
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      auto first = timers_.begin();
      if (first->first.first > now_) now_ = first->first.first;
      env::Task task = std::move(first->second);
      timers_.erase(first);
      task();
      Settle();
    }
    now_ = end;
  }
  /// Lets time pass without a single turn, as for a process that is stopped.
  void Freeze(absl::Duration duration) { now_ = now_ + duration; }
  bool idle() const { return posted_.empty() && timers_.empty(); }

 private:
  MonoTime now_ = MonoTime::FromNanos(1'000'000'000);
  TimerId last_timer_ = 0;
  std::deque<env::Task> posted_;
  std::map<std::pair<MonoTime, TimerId>, env::Task> timers_;
};

class InlinePool final : public env::WorkPool {
 public:
  void Run(env::Task work) override {
    if (busy) return waiting.push_back(std::move(work));
    work();
  }
  void WorkOff() {
    busy = false;
    for (env::Task& work : std::exchange(waiting, {})) work();
  }

  bool busy = false;  // work waits
  std::vector<env::Task> waiting;
};

/// Draws the same jitter each time.
class FixedRandom final : public env::Random {
 public:
  std::uint64_t Next() override { return value; }

  std::uint64_t value = 512;
};

}  // namespace weir::worker
