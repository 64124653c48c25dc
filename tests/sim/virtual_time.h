#pragma once

// One queue of events under virtual time, and the seams of runtime/env on top of it.
// Upstream: World. Downstream: everything that runs in a simulation.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "runtime/env/event_loop.h"

namespace weir::sim {

class ProcessLoop;

/// All events of a simulation in the order of their time; equal times in the order of insertion, so
/// that one seed gives one history.
class VirtualTime {
 public:
  VirtualTime() = default;
  ~VirtualTime();
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;
  MonoTime now() const { return now_; }
  /// Runs `task` at `when` for `loop`; for the world itself when `loop` is null.
  std::uint64_t At(MonoTime when, std::shared_ptr<ProcessLoop> loop, env::Task task);
  void Cancel(std::uint64_t id);
  /// Runs the next event. False when there is none.
  bool RunNext();
  std::uint64_t events_run() const { return events_run_; }
  /// Events that have yet to run and are not cancelled.
  std::size_t events_waiting() const { return events_.size() - free_.size(); }
  /// The loop whose event runs now; null for the world's own.
  const ProcessLoop* running() const { return running_; }

 private:
  // One that waits, or a free place. An id is a number that rises, and the event's place below it.
  struct Event {
    std::uint64_t id = 0;  // 0: the place is free
    std::shared_ptr<ProcessLoop> loop;
    env::Task task;
  };
  using Key = std::pair<std::int64_t, std::uint64_t>;
  static constexpr int kPlaceBits = 24;
  static std::size_t PlaceOf(std::uint64_t id) {
    return id & ((std::uint64_t{1} << kPlaceBits) - 1);
  }
  Event Take(std::size_t place);

  const ProcessLoop* running_ = nullptr;
  MonoTime now_ = MonoTime::FromNanos(1'000'000'000);
  std::uint64_t next_number_ = 1;
  std::uint64_t events_run_ = 0;
  // Earliest first; what was cancelled stays until its time has come.
  std::priority_queue<Key, std::vector<Key>, std::greater<>> due_;
  std::vector<Event> events_;
  std::vector<std::size_t> free_;
};

/// The control strand of one simulated process: it may be killed (nothing of it runs any more) or
/// hang (everything waits until it goes on).
class ProcessLoop final : public env::EventLoop, public std::enable_shared_from_this<ProcessLoop> {
 public:
  explicit ProcessLoop(VirtualTime& time) : time_(time) {}
  MonoTime Now() const override { return time_.now(); }
  void Post(env::Task task) override { time_.At(time_.now(), shared_from_this(), std::move(task)); }
  TimerId RunAt(MonoTime when, env::Task task) override {
    return time_.At(when, shared_from_this(), std::move(task));
  }
  void CancelTimer(TimerId timer) override;
  bool IsCurrent() const override { return true; }

  bool alive() const { return alive_; }
  bool hung() const { return hung_; }
  void Kill();
  void Hang() { hung_ = true; }
  void GoOn();

 private:
  friend class VirtualTime;
  VirtualTime& time_;
  bool alive_ = true;
  bool hung_ = false;
  std::deque<std::pair<TimerId, env::Task>> waiting_;  // came due while it hung
};

/// Draws from one seed.
class SeededRandom final : public env::Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t Next() override { return engine_(); }
  /// In [0, 1), from bits alone, so that every standard library draws the same.
  double Share() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  std::int64_t Between(std::int64_t min, std::int64_t max) {
    return min + static_cast<std::int64_t>(Share() * static_cast<double>(max - min + 1));
  }
  double Real(double min, double max) { return min + Share() * (max - min); }
  bool Chance(double probability) { return Share() < probability; }
  absl::Duration Duration(absl::Duration min, absl::Duration max) {
    return min + (max - min) * Share();
  }

 private:
  std::mt19937_64 engine_;
};

/// Runs work on its process's loop after a little virtual time, as a pool thread would take it.
class SimWorkPool final : public env::WorkPool {
 public:
  SimWorkPool(std::shared_ptr<ProcessLoop> loop, SeededRandom& random,
              absl::Duration at_most = absl::Milliseconds(3))
      : loop_(std::move(loop)), random_(random), at_most_(at_most) {}
  void Run(env::Task work) override {
    ++num_runs_;
    if (held_) return waiting_.push_back(std::move(work));
    loop_->RunAt(loop_->Now() + random_.Duration(absl::ZeroDuration(), at_most_), std::move(work));
  }
  /// Work waits from now on, as behind threads that wait for a disk that does not answer.
  void Hold() { held_ = true; }
  /// It goes on, in the order in which it was given.
  void GoOn() {
    held_ = false;
    for (env::Task& work : std::exchange(waiting_, {})) loop_->Post(std::move(work));
  }
  int num_runs() const { return num_runs_; }
  /// Of what is given to it from now on.
  void SetAtMost(absl::Duration at_most) { at_most_ = at_most; }

 private:
  std::shared_ptr<ProcessLoop> loop_;
  SeededRandom& random_;
  absl::Duration at_most_;
  int num_runs_ = 0;
  bool held_ = false;
  std::vector<env::Task> waiting_;
};

class SimWallClock final : public env::WallClock {
 public:
  explicit SimWallClock(const VirtualTime& time) : time_(time) {}
  std::int64_t UnixMillis() const override {
    return 1'700'000'000'000 + time_.now().nanos() / 1'000'000 + ahead_ms_;
  }
  /// Somebody sets it.
  void Jump(absl::Duration by) { ahead_ms_ += absl::ToInt64Milliseconds(by); }

 private:
  const VirtualTime& time_;
  std::int64_t ahead_ms_ = 0;
};

}  // namespace weir::sim
