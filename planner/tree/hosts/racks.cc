#include "planner/tree/hosts/racks.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>

#include "planner/tree/hosts/lane_clock.h"
#include "planner/tree/model/schedule_timing.h"

namespace weir::planner::tree {

namespace {

constexpr std::int32_t kNoMessage = -1;

/// What every message of a list waits for.
class ListWaits {
 public:
  ListWaits(const Schedule& schedule, bool keeps_receives)
      : waits_(schedule.messages.size(), 0), next_(schedule.messages.size()) {
    const auto q = static_cast<std::int32_t>(schedule.segment_units.size());
    const std::size_t cells =
        static_cast<std::size_t>(schedule.num_machines) * static_cast<std::size_t>(q);
    std::vector<std::int32_t> last_in(cells, kNoMessage);
    std::vector<std::int32_t> last_out(cells, kNoMessage);
    std::vector<std::int32_t> last_received(static_cast<std::size_t>(schedule.num_machines),
                                            kNoMessage);
    for (std::size_t k = 0; k < schedule.messages.size(); ++k) {
      const Message& message = schedule.messages[k];
      const auto index = static_cast<std::int32_t>(k);
      if (keeps_receives)
        Add(std::exchange(last_received[static_cast<std::size_t>(message.receiver)], index), index);
      for (std::int32_t at = message.segment_begin; at < message.segment_end; ++at) {
        const auto segment = static_cast<std::size_t>(at % q);
        const std::size_t from =
            static_cast<std::size_t>(message.sender) * static_cast<std::size_t>(q) + segment;
        const std::size_t to =
            static_cast<std::size_t>(message.receiver) * static_cast<std::size_t>(q) + segment;
        Add(last_in[from], index);
        Add(last_in[to], index);
        Add(last_out[to], index);
        last_out[from] = index;
        last_in[to] = index;
      }
    }
  }

  bool IsFree(std::int32_t message) const { return waits_[static_cast<std::size_t>(message)] == 0; }

  /// Calls `freed` with every message that waited for this one alone.
  template <typename Freed>
  void Placed(std::int32_t message, const Freed& freed) {
    for (const std::int32_t next : next_[static_cast<std::size_t>(message)]) {
      if (--waits_[static_cast<std::size_t>(next)] == 0) freed(next);
    }
  }

 private:
  void Add(std::int32_t before, std::int32_t message) {
    if (before == kNoMessage) return;
    std::vector<std::int32_t>& next = next_[static_cast<std::size_t>(before)];
    // Neighbouring segments mostly have the same maker.
    if (before == message || (!next.empty() && next.back() == message)) return;
    next.push_back(message);
    ++waits_[static_cast<std::size_t>(message)];
  }

  std::vector<std::int32_t> waits_;
  std::vector<std::vector<std::int32_t>> next_;
};

}  // namespace

Racks RacksOf(const NetworkModel& network, MachineIndex root) {
  const std::vector<std::int32_t> side = SidesOfCuts(network);
  Racks racks;
  for (MachineIndex i = 0; i < network.num_workers; ++i) {
    const auto rack = static_cast<std::size_t>(side[static_cast<std::size_t>(i)]);
    if (rack == racks.size()) racks.emplace_back();
    racks[rack].push_back(i);
  }
  const auto roots = racks.begin() + side[static_cast<std::size_t>(root)];
  const auto at = std::find(roots->begin(), roots->end(), root);
  std::rotate(roots->begin(), at, at + 1);
  std::rotate(racks.begin(), roots, roots + 1);
  return racks;
}

std::vector<MachineIndex> RackOrder(const Racks& racks) {
  std::vector<MachineIndex> order;
  for (const std::vector<MachineIndex>& rack : racks)
    order.insert(order.end(), rack.begin(), rack.end());
  return order;
}

Schedule EarliestFirst(const Schedule& schedule, PortModel ports, const NetworkModel& network,
                       Seconds lanes_early_s, bool keeps_receives) {
  Schedule ordered = schedule;
  ordered.messages.clear();
  ordered.makespan_s = 0;
  std::vector<Message> messages = schedule.messages;
  PortClock clock(schedule.num_machines, static_cast<std::int32_t>(schedule.segment_units.size()),
                  ports);
  LaneClock lanes(network, lanes_early_s);
  const auto earliest_start = [&](const Message& message) {
    Seconds start_s = clock.EarliestStart(message);
    // A lane may fall free when a machine combines: both have to agree.
    for (Seconds tried_s = -1; tried_s < start_s;) {
      tried_s = start_s;
      start_s = lanes.EarliestStart(message.sender, message.receiver, tried_s);
      if (start_s > tried_s) start_s = clock.EarliestStart(message, start_s);
    }
    return start_s;
  };
  ListWaits waits(schedule, keeps_receives);
  // A key is a lower bound of the start: it is looked at again when it comes up.
  using Key = std::pair<Seconds, std::int32_t>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> open;
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(messages.size()); ++k) {
    if (waits.IsFree(k)) open.emplace(0.0, k);
  }
  while (!open.empty()) {
    const auto [bound_s, index] = open.top();
    open.pop();
    Message& message = messages[static_cast<std::size_t>(index)];
    const Seconds start_s = earliest_start(message);
    if (start_s > bound_s) {
      open.emplace(start_s, index);
      continue;
    }
    const Seconds end_s = clock.PlaceNotBefore(message, start_s);
    lanes.Place(message.sender, message.receiver, message.start_s,
                message.start_s + message.flight_s + message.port_s);
    ordered.messages.push_back(message);
    if (message.receiver == ordered.root) ordered.makespan_s = std::max(ordered.makespan_s, end_s);
    waits.Placed(index, [&](std::int32_t next) { open.emplace(start_s, next); });
  }
  return ordered;
}

}  // namespace weir::planner::tree
