#include "runtime/task/slot_threads.h"

#include <cstdint>
#include <exception>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace weir::task {

struct SlotThreads::State {
  explicit State(int slots) : num_slots(slots) {}

  void Loop(int slot) {
    std::uint64_t seen = 0;
    while (true) {
      const std::function<void(int)>* work = nullptr;
      {
        absl::MutexLock lock(&mutex);
        const auto woken = [this, seen] { return stopping || round != seen; };
        mutex.Await(absl::Condition(&woken));
        if (stopping) {
          --num_alive;
          return;
        }
        seen = round;
        work = body;
      }
      RunBody(*work, slot);
      absl::MutexLock lock(&mutex);
      --num_busy;
    }
  }

  void RunBody(const std::function<void(int)>& work, int slot) {
    try {
      work(slot);
    } catch (...) {
      absl::MutexLock lock(&mutex);
      if (failure == nullptr) failure = std::current_exception();
    }
  }

  const int num_slots;
  absl::Mutex mutex;
  bool stopping = false;
  int num_alive = 0;
  int num_busy = 0;
  std::uint64_t round = 0;
  const std::function<void(int)>* body = nullptr;
  std::exception_ptr failure;
};

SlotThreads::SlotThreads(int num_slots, const TaskEnvironment& environment)
    : state_(std::make_shared<State>(num_slots)) {
  state_->num_alive = num_slots - 1;
  for (int slot = 1; slot < num_slots; ++slot) {
    environment.start_thread([state = state_, slot] { state->Loop(slot); });
  }
}

SlotThreads::~SlotThreads() {
  absl::MutexLock lock(&state_->mutex);
  state_->stopping = true;
  const auto gone = [state = state_.get()] { return state->num_alive == 0; };
  state_->mutex.Await(absl::Condition(&gone));
}

int SlotThreads::num_slots() const { return state_->num_slots; }

void SlotThreads::RunOnAll(const std::function<void(int slot)>& body) {
  {
    absl::MutexLock lock(&state_->mutex);
    state_->body = &body;
    state_->num_busy = state_->num_slots - 1;
    ++state_->round;
  }
  state_->RunBody(body, 0);
  std::exception_ptr failure;
  {
    absl::MutexLock lock(&state_->mutex);
    const auto done = [state = state_.get()] { return state->num_busy == 0; };
    state_->mutex.Await(absl::Condition(&done));
    failure = std::exchange(state_->failure, nullptr);
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace weir::task
