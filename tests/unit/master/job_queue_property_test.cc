// The queue under whatever comes and goes: limits hold, nobody waits while there is room, nobody is
// overtaken for ever.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "runtime/master/job/job_queue.h"

namespace weir::master {
namespace {

struct Known {
  JobWish wish;
  std::int64_t turn_ms = 0;
  std::int64_t number = 0;
};

bool IsSmall(const JobWish& wish, const WorkerRoom& room) {
  return wish.input_bytes >= 0 && wish.input_bytes <= JobQueue::kSmallInputBytes &&
         (room.memory_bytes == 0 ||
          JobQueue::MemoryNeeded(wish.input_bytes, 1) <= JobQueue::MemoryKept(room));
}

RC_GTEST_PROP(JobQueueProperty, LimitsHoldAndNobodyIsOvertakenForEver, ()) {
  const auto running_max = *rc::gen::inRange(1, 6);
  WorkerRoom room{3, *rc::gen::element<std::int64_t>(0, 1LL << 30, 8LL << 30),
                  *rc::gen::arbitrary<bool>()};
  JobQueue queue(running_max);
  std::map<std::string, Known> waiting;
  std::map<std::string, bool> running;  // whether it was small beside others
  std::int64_t now_ms = 0;
  std::int64_t number = 0;
  for (const int action : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 10))) {
    now_ms += *rc::gen::inRange<std::int64_t>(0, 300'000);
    if (action < 5) {
      const JobWish wish{*rc::gen::inRange(-3, 4), now_ms,
                         *rc::gen::element<std::int64_t>(-1, 1 << 20, 1LL << 30, 1LL << 36)};
      const std::string name = std::to_string(++number);
      const std::int64_t step_ms = absl::ToInt64Milliseconds(JobQueue::kPriorityStep);
      waiting[name] = {wish, now_ms - wish.priority * step_ms, number};
      queue.Add(name, wish);
    } else if (action < 8 && !running.empty()) {
      const auto it = std::next(running.begin(), *rc::gen::inRange<std::size_t>(0, running.size()));
      queue.Remove(it->first);
      running.erase(it);
    } else if (!waiting.empty()) {
      const auto it = std::next(waiting.begin(), *rc::gen::inRange<std::size_t>(0, waiting.size()));
      queue.Remove(it->first);
      waiting.erase(it);
    }
    while (const auto next = queue.TakeNext(room)) {
      const Known begun = waiting.at(next->job);
      const bool small = !running.empty() && IsSmall(begun.wish, room);
      for (const auto& [name, other] : waiting) {
        const bool before =
            std::pair(other.turn_ms, other.number) < std::pair(begun.turn_ms, begun.number);
        if (!before) continue;
        // Only a small one goes before others, and only before those that are not.
        RC_ASSERT(small);
        RC_ASSERT(!IsSmall(other.wish, room));
      }
      RC_ASSERT(next->memory_share > 0 && next->memory_share <= 1);
      waiting.erase(next->job);
      running[next->job] = small;
      RC_ASSERT(static_cast<int>(running.size()) <= running_max);
      const auto num_large = std::count_if(running.begin(), running.end(),
                                           [](const auto& one) { return !one.second; });
      RC_ASSERT(num_large <= std::max(1, running_max - 1));
      if (room.limited && room.memory_bytes > 0) RC_ASSERT(num_large <= 1);
    }
    RC_ASSERT(waiting.empty() || !running.empty());
    std::vector<std::string> in_order = queue.waiting();
    RC_ASSERT(in_order.size() == waiting.size());
    for (std::size_t i = 0; i < in_order.size(); ++i) {
      RC_ASSERT(queue.PlaceOf(in_order[i]) == static_cast<std::int32_t>(i) + 1);
      if (i == 0) continue;
      const Known& a = waiting.at(in_order[i - 1]);
      const Known& b = waiting.at(in_order[i]);
      RC_ASSERT(std::pair(a.turn_ms, a.number) < std::pair(b.turn_ms, b.number));
    }
    // A small one waits for a place only.
    for (const auto& [name, other] : waiting) {
      if (IsSmall(other.wish, room)) RC_ASSERT(static_cast<int>(running.size()) == running_max);
    }
  }
}

}  // namespace
}  // namespace weir::master
