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
  if (event.loop == nullptr) {
    event.task();
  } else if (event.loop->alive_) {
    if (event.loop->hung_) {
      event.loop->waiting_.push_back(std::move(event.task));
    } else {
      event.task();
    }
  }
  return true;
}

void ProcessLoop::Kill() {
  alive_ = false;
  waiting_.clear();
}

void ProcessLoop::GoOn() {
  hung_ = false;
  for (env::Task& task : waiting_) Post(std::move(task));
  waiting_.clear();
}

}  // namespace weir::sim
