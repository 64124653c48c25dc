#include "runtime/task/slot_threads.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>

namespace weir::task {

struct SlotThreads::State {
  explicit State(int slots) : num_slots(slots) {}

  void Loop(int slot) {
    std::uint64_t seen = 0;
    while (true) {
      const std::function<void(int)>* work = nullptr;
      {
        std::unique_lock lock(mutex);
        work_or_stop.wait(lock, [this, seen] { return stopping || round != seen; });
        if (stopping) {
          if (--num_alive == 0) all_ended.notify_one();
          return;
        }
        seen = round;
        work = body;
      }
      RunBody(*work, slot);
      const std::lock_guard lock(mutex);
      if (--num_busy == 0) all_ended.notify_one();
    }
  }

  void RunBody(const std::function<void(int)>& work, int slot) {
    try {
      work(slot);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
    }
  }

  const int num_slots;
  std::mutex mutex;  // guards all below
  std::condition_variable work_or_stop;
  std::condition_variable all_ended;  // the round, or the threads
  bool stopping = false;
  int num_alive = 0;
  int num_busy = 0;
  std::uint64_t round = 0;
  const std::function<void(int)>* body = nullptr;
  std::exception_ptr failure;
};

SlotThreads::SlotThreads(int num_slots, const TaskEnvironment& environment)
    : state_(std::make_shared<State>(num_slots)) {
  try {
    for (int slot = 1; slot < num_slots; ++slot) {
      environment.start_thread([state = state_, slot] { state->Loop(slot); });
      const std::lock_guard lock(state_->mutex);
      ++state_->num_alive;
    }
  } catch (...) {
    // No more threads are to be had: those that there are must not wait for work.
    End();
    throw;
  }
}

SlotThreads::~SlotThreads() { End(); }

void SlotThreads::End() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->work_or_stop.notify_all();
  state_->all_ended.wait(lock, [this] { return state_->num_alive == 0; });
}

int SlotThreads::num_slots() const { return state_->num_slots; }

void SlotThreads::RunOnAll(const std::function<void(int slot)>& body) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->body = &body;
    state_->num_busy = state_->num_slots - 1;
    ++state_->round;
    state_->work_or_stop.notify_all();
  }
  state_->RunBody(body, 0);
  std::exception_ptr failure;
  {
    std::unique_lock lock(state_->mutex);
    state_->all_ended.wait(lock, [this] { return state_->num_busy == 0; });
    failure = std::exchange(state_->failure, nullptr);
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace weir::task
