#include "tests/sim/virtual_time.h"

#include <algorithm>

namespace weir::sim {

std::uint64_t VirtualTime::At(MonoTime when, std::shared_ptr<ProcessLoop> loop, env::Task task) {
  const std::uint64_t id = next_id_++;
  const std::int64_t nanos = std::max(when, now_).nanos();
  time_of_[id] = nanos;
  events_.emplace(Key{nanos, id}, Event{std::move(loop), std::move(task)});
  return id;
}

void VirtualTime::Cancel(std::uint64_t id) {
  const auto it = time_of_.find(id);
  if (it == time_of_.end()) return;
  events_.erase(Key{it->second, id});
  time_of_.erase(it);
}

bool VirtualTime::RunNext() {
  if (events_.empty()) return false;
  auto node = events_.extract(events_.begin());
  now_ = MonoTime::FromNanos(node.key().first);
  time_of_.erase(node.key().second);
  ++events_run_;
  Event& event = node.mapped();
  if (event.loop != nullptr && !event.loop->alive_) return true;
  if (event.loop != nullptr && event.loop->hung_) {
    event.loop->waiting_.emplace_back(node.key().second, std::move(event.task));
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
