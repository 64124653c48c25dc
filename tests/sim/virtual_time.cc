#include "tests/sim/virtual_time.h"

#include <algorithm>
#include <utility>

namespace weir::sim {

// What waits may cancel timers as it goes.
VirtualTime::~VirtualTime() { const auto rest = std::exchange(events_, {}); }

std::uint64_t VirtualTime::At(MonoTime when, std::shared_ptr<ProcessLoop> loop, env::Task task) {
  if (free_.empty()) {
    free_.push_back(events_.size());
    events_.emplace_back();
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  const std::uint64_t id = next_number_++ << kPlaceBits | place;
  events_[place] = {id, std::move(loop), std::move(task)};
  due_.emplace(std::max(when, now_).nanos(), id);
  return id;
}

VirtualTime::Event VirtualTime::Take(std::size_t place) {
  free_.push_back(place);
  return std::exchange(events_[place], Event());
}

void VirtualTime::Cancel(std::uint64_t id) {
  const std::size_t place = PlaceOf(id);
  // What it holds may cancel others as it goes.
  if (place < events_.size() && events_[place].id == id) Take(place);
}

bool VirtualTime::RunNext() {
  Event event;
  Key key;
  while (event.id == 0) {
    if (due_.empty()) return false;
    key = due_.top();
    due_.pop();
    const std::size_t place = PlaceOf(key.second);
    if (events_[place].id == key.second) event = Take(place);
  }
  now_ = MonoTime::FromNanos(key.first);
  ++events_run_;
  if (event.loop != nullptr && !event.loop->alive_) return true;
  if (event.loop != nullptr && event.loop->hung_) {
    event.loop->waiting_.emplace_back(event.id, std::move(event.task));
    return true;
  }
  running_ = event.loop.get();
  event.task();
  running_ = nullptr;
  return true;
}

void ProcessLoop::CancelTimer(TimerId timer) {
  time_.Cancel(timer);
  std::erase_if(waiting_, [timer](const auto& due) { return due.first == timer; });
}

void ProcessLoop::Kill() {
  alive_ = false;
  waiting_.clear();
}

void ProcessLoop::GoOn() {
  hung_ = false;
  // In one turn, so that what one of them cancels does not run any more.
  Post([this] {
    while (!waiting_.empty() && !hung_) {
      env::Task task = std::move(waiting_.front().second);
      waiting_.pop_front();
      task();
    }
  });
}

}  // namespace weir::sim
