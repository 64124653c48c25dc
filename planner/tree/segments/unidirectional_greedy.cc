#include "planner/tree/segments/unidirectional_greedy.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

#include "planner/tree/model/input_checks.h"
#include "planner/tree/segments/list_schedule.h"

namespace weir::planner::tree {

namespace {

constexpr PortModel kUnidirectional{false, false, true};

/// Machines that become free at the same time.
struct FreeGroup {
  Seconds time_s = 0;
  std::int64_t count = 0;
};

void AddGroup(std::deque<FreeGroup>& groups, FreeGroup group) {
  if (!groups.empty() && groups.back().time_s == group.time_s) {
    groups.back().count += group.count;
  } else {
    groups.push_back(group);
  }
}

/// Reduces one segment: takes the free machines by time, returns them with the times at which they
/// turn to the next segment. The last entry's machine is the root; `done_s` is when it holds the
/// segment.
std::deque<FreeGroup> ReduceSegment(const std::deque<FreeGroup>& free, Seconds transfer_s,
                                    Seconds combine_s, Seconds& done_s) {
  std::deque<FreeGroup> senders;
  std::deque<FreeGroup> receivers;  // back in the pool in the order in which they were paired
  std::int64_t holders = 0;
  for (const FreeGroup& group : free) holders += group.count;
  std::size_t next = 0;
  std::int64_t unpaired = 0;  // 0 or 1 machine left over from an earlier time
  Seconds latest_s = 0;
  while (holders > 1 || next < free.size() || !receivers.empty()) {
    const bool take_free =
        next < free.size() && (receivers.empty() || free[next].time_s <= receivers.front().time_s);
    FreeGroup group;
    if (take_free) {
      group = free[next++];
    } else {
      group = receivers.front();
      receivers.pop_front();
    }
    latest_s = group.time_s;
    const std::int64_t waiting = group.count + unpaired;
    const std::int64_t pairs = waiting / 2;
    unpaired = waiting % 2;
    if (pairs == 0) continue;
    AddGroup(senders, {group.time_s + transfer_s, pairs});
    AddGroup(receivers, {group.time_s + transfer_s + combine_s, pairs});
    holders -= pairs;
  }
  done_s = latest_s;
  senders.push_back({latest_s, 1});
  std::stable_sort(senders.begin(), senders.end(),
                   [](const FreeGroup& a, const FreeGroup& b) { return a.time_s < b.time_s; });
  return senders;
}

}  // namespace

absl::StatusOr<Seconds> UnidirectionalGreedyLength(std::int64_t p, const std::vector<double>& units,
                                                   const LinkCosts& costs) {
  if (absl::Status status = CheckCount("p", p, 1, kCompressedMachinesMax); !status.ok())
    return status;
  if (absl::Status status = CheckSegmented(1, units, costs); !status.ok()) return status;
  std::deque<FreeGroup> free = {{0, p}};
  Seconds makespan_s = 0;
  for (double size : units) {
    Seconds done_s = 0;
    free = ReduceSegment(free, costs.alpha_s + costs.beta_s_per_unit * size,
                         costs.gamma_s_per_unit * size, done_s);
    makespan_s = std::max(makespan_s, done_s);
  }
  return makespan_s;
}

absl::StatusOr<Schedule> UnidirectionalGreedySchedule(std::int32_t p, std::vector<double> units,
                                                      const LinkCosts& costs) {
  if (absl::Status status = CheckSegmented(p, units, costs); !status.ok()) return status;
  Schedule schedule = EmptySchedule("unidirectional greedy", p, std::move(units));
  using Free = std::pair<Seconds, MachineIndex>;
  std::vector<Free> free;
  for (MachineIndex i = 0; i < p; ++i) free.push_back({0, i});
  for (std::int32_t j = 0; j < static_cast<std::int32_t>(schedule.segment_units.size()); ++j) {
    std::priority_queue<Free, std::vector<Free>, std::greater<>> pool(std::greater<>(),
                                                                      std::move(free));
    free.clear();
    while (pool.size() > 1) {
      const Free first = pool.top();
      pool.pop();
      const Free second = pool.top();
      pool.pop();
      // The lower rank receives, so machine 0 is never a sender.
      const MachineIndex receiver = std::min(first.second, second.second);
      const MachineIndex sender = std::max(first.second, second.second);
      Message message = MakeMessage(schedule, costs, kUnidirectional, sender, receiver, j, j + 1);
      message.start_s = second.first;
      schedule.messages.push_back(message);
      free.push_back({second.first + message.port_s, sender});
      pool.push({second.first + message.port_s + message.combine_s, receiver});
    }
    free.push_back(pool.top());
    schedule.makespan_s = std::max(schedule.makespan_s, pool.top().first);
  }
  return schedule;
}

}  // namespace weir::planner::tree
