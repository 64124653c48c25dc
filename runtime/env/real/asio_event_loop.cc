#include "runtime/env/real/asio_event_loop.h"

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "asio/executor_work_guard.hpp"
#include "asio/io_context.hpp"
#include "asio/posix/stream_descriptor.hpp"
#include "asio/post.hpp"
#include "asio/signal_set.hpp"
#include "asio/steady_timer.hpp"
#include "runtime/base/errno_status.h"

namespace weir::env {
namespace {

MonoTime ReadMonotonicClock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return MonoTime::FromNanos(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

// Keeps one wait of each kind under way; a generation number tells an asked-again wait from the
// one it replaced.
class AsioFdWatch final : public FdWatch {
 public:
  AsioFdWatch(asio::io_context& context) : state_(std::make_shared<State>(context)) {}
  ~AsioFdWatch() override {
    // Waits that already completed but were not yet run must find nothing to call.
    state_->readable = nullptr;
    state_->writable = nullptr;
    if (state_->descriptor.is_open()) state_->descriptor.release();
  }

  absl::Status Open(int fd) {
    asio::error_code error;
    state_->descriptor.assign(fd, error);
    if (!error) return absl::OkStatus();
    return ErrnoStatus(error.value(), absl::StrCat("watch descriptor ", fd));
  }

  void OnceReadable(Task task) override {
    Wait(state_, asio::posix::descriptor_base::wait_read, state_->readable, std::move(task),
         &State::readable);
  }
  void OnceWritable(Task task) override {
    Wait(state_, asio::posix::descriptor_base::wait_write, state_->writable, std::move(task),
         &State::writable);
  }

 private:
  struct State {
    explicit State(asio::io_context& context) : descriptor(context) {}
    asio::posix::stream_descriptor descriptor;
    Task readable;
    Task writable;
  };

  static void Wait(const std::shared_ptr<State>& state,
                   asio::posix::descriptor_base::wait_type kind, Task& slot, Task task,
                   Task State::*which) {
    // A wait under way serves the newer task.
    const bool waiting = static_cast<bool>(slot);
    slot = std::move(task);
    if (waiting) return;
    state->descriptor.async_wait(kind, [state, which](const asio::error_code&) {
      // Errors wake the task too: its read or write then says what is wrong.
      if (Task ready = std::exchange((*state).*which, nullptr)) ready();
    });
  }

  std::shared_ptr<State> state_;
};

}  // namespace

class AsioEventLoop::Core {
 public:
  Core() : guard(asio::make_work_guard(context)), timer(context) {}

  // Timers in the order (time, asked), which the heap of Asio does not promise.
  using Key = std::pair<MonoTime, TimerId>;

  void Arm() {
    if (timers.empty()) return;
    const MonoTime first = timers.begin()->first.first;
    if (armed && armed_at <= first) return;
    armed = true;
    armed_at = first;
    timer.expires_at(std::chrono::steady_clock::time_point(
        std::chrono::nanoseconds(first.nanos() + skipped_ns)));
    timer.async_wait([this](const asio::error_code& error) {
      if (error) return;  // replaced by an earlier time
      armed = false;
      RunDue();
    });
  }

  void RunDue() {
    const MonoTime now = Now();
    while (!timers.empty() && timers.begin()->first.first <= now) {
      auto first = timers.begin();
      Task task = std::move(first->second);
      times.erase(first->first.second);
      timers.erase(first);
      task();
    }
    Arm();
  }

  MonoTime Now() const { return MonoTime::FromNanos(ReadMonotonicClock().nanos() - skipped_ns); }

  std::atomic<std::int64_t> skipped_ns = 0;
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  asio::steady_timer timer;
  bool armed = false;
  MonoTime armed_at;
  TimerId last_timer = 0;
  absl::btree_map<Key, Task> timers;
  absl::flat_hash_map<TimerId, MonoTime> times;

  struct Signals {
    explicit Signals(asio::io_context& context) : set(context) {}
    asio::signal_set set;
    std::function<void(int)> task;
  };
  void WaitForSignal(Signals* watch) {
    watch->set.async_wait([this, watch](const asio::error_code& error, int number) {
      if (error) return;
      WaitForSignal(watch);
      watch->task(number);
    });
  }
  std::vector<std::unique_ptr<Signals>> signals;
};

AsioEventLoop::AsioEventLoop() : core_(std::make_unique<Core>()) {}
AsioEventLoop::~AsioEventLoop() = default;

// Made ready again after a run, never before one: a Stop that comes before Run must not be lost.
void AsioEventLoop::Run() {
  core_->context.run();
  core_->context.restart();
}

void AsioEventLoop::RunUntil(const std::function<bool()>& done) {
  while (!done() && core_->context.run_one() > 0) {
  }
  if (core_->context.stopped()) core_->context.restart();
}

void AsioEventLoop::Stop() { core_->context.stop(); }

absl::Status AsioEventLoop::OnSignals(const std::vector<int>& signals,
                                      std::function<void(int)> task) {
  auto watch = std::make_unique<Core::Signals>(core_->context);
  for (const int number : signals) {
    asio::error_code error;
    watch->set.add(number, error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot watch signal ", number, ": ", error.message()));
    }
  }
  watch->task = std::move(task);
  core_->WaitForSignal(watch.get());
  core_->signals.push_back(std::move(watch));
  return absl::OkStatus();
}

asio::io_context& AsioEventLoop::context() { return core_->context; }

MonoTime AsioEventLoop::Now() const { return core_->Now(); }

// A timer that is armed already fires early, finds nothing due and is armed again.
void AsioEventLoop::SkipTime(absl::Duration time) {
  core_->skipped_ns += absl::ToInt64Nanoseconds(time);
}

void AsioEventLoop::Post(Task task) {
  asio::post(core_->context, [task = std::move(task)]() mutable { task(); });
}

EventLoop::TimerId AsioEventLoop::RunAt(MonoTime when, Task task) {
  const TimerId id = ++core_->last_timer;
  core_->timers.emplace(Core::Key{when, id}, std::move(task));
  core_->times.emplace(id, when);
  core_->Arm();
  return id;
}

void AsioEventLoop::CancelTimer(TimerId timer) {
  const auto found = core_->times.find(timer);
  if (found == core_->times.end()) return;
  core_->timers.erase({found->second, timer});
  core_->times.erase(found);
}

bool AsioEventLoop::IsCurrent() const {
  return core_->context.get_executor().running_in_this_thread();
}

absl::StatusOr<std::unique_ptr<FdWatch>> AsioEventLoop::Watch(int fd) {
  auto watch = std::make_unique<AsioFdWatch>(core_->context);
  if (absl::Status opened = watch->Open(fd); !opened.ok()) return opened;
  return std::unique_ptr<FdWatch>(std::move(watch));
}

}  // namespace weir::env
