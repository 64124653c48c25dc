#include "planner/tree/hosts/racks.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

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

/// Places the messages of a list: always the one that can start first, ties by its place in it.
class EarliestFirstOrder {
 public:
  EarliestFirstOrder(const Schedule& schedule, PortModel ports, const NetworkModel& network,
                     Seconds lanes_early_s, bool keeps_receives)
      : messages_(schedule.messages),
        clock_(schedule.num_machines, static_cast<std::int32_t>(schedule.segment_units.size()),
               ports),
        lanes_(network, lanes_early_s),
        waits_(schedule, keeps_receives),
        joined_(messages_.size(), false) {
    std::map<std::tuple<MachineIndex, MachineIndex, Seconds, Seconds>, std::size_t> number;
    for (const Message& message : messages_) {
      const auto found = number.try_emplace(
          {message.sender, message.receiver, message.flight_s, message.port_s}, number.size());
      crowd_of_.push_back(found.first->second);
    }
    crowds_.resize(number.size());
  }

  /// Appends all messages to `ordered`, whose root is that of the list, and sets its makespan.
  void Run(Schedule& ordered) {
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(messages_.size()); ++k) {
      if (waits_.IsFree(k)) entries_.emplace(0.0, k);
    }
    while (!entries_.empty()) {
      const Entry entry = entries_.top();
      entries_.pop();
      if (joined_[static_cast<std::size_t>(entry.second)]) {
        LookAtCrowd(entry, ordered);
      } else {
        LookAtOne(entry, ordered);
      }
    }
  }

 private:
  /// A lower bound of a start, which is looked at again when it comes up, and a message.
  using Entry = std::pair<Seconds, std::int32_t>;

  /// Messages of one pair that hold its ports equally long and that nothing but ports and lanes
  /// keeps. They would all start at the same time, so the first of the list stands for them: those
  /// behind it are not looked at whenever the port is busy.
  struct Crowd {
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> messages;
    std::optional<Entry> entry;  // never beyond the start of its first message
  };

  Message& At(std::int32_t index) { return messages_[static_cast<std::size_t>(index)]; }
  Crowd& CrowdOf(std::int32_t index) { return crowds_[crowd_of_[static_cast<std::size_t>(index)]]; }

  Seconds EarliestStart(const Message& message, Seconds start_s) {
    start_s = clock_.EarliestStart(message, start_s);
    // A lane may fall free when a machine combines: both have to agree.
    for (Seconds tried_s = -1; tried_s < start_s;) {
      tried_s = start_s;
      start_s = lanes_.EarliestStart(message.sender, message.receiver, tried_s);
      if (start_s > tried_s) start_s = clock_.EarliestStart(message, start_s);
    }
    return start_s;
  }

  /// When ports and lanes let the message start, whatever it carries.
  Seconds PortsAllow(Message message) {
    message.segment_end = message.segment_begin;
    return EarliestStart(message, 0);
  }

  void LookAtOne(Entry entry, Schedule& ordered) {
    const auto [bound_s, index] = entry;
    const Seconds ports_s = PortsAllow(At(index));
    const Seconds start_s = EarliestStart(At(index), ports_s);
    if (start_s == ports_s && start_s >= bound_s) {
      Join(index, start_s);
    } else if (start_s > bound_s) {
      entries_.emplace(start_s, index);
    } else {
      Place(index, start_s, ordered);
    }
  }

  void Join(std::int32_t index, Seconds start_s) {
    joined_[static_cast<std::size_t>(index)] = true;
    Crowd& crowd = CrowdOf(index);
    crowd.messages.push(index);
    const Entry entry{start_s, index};
    if (!crowd.entry || entry < *crowd.entry) Enter(crowd, entry);
  }

  void Enter(Crowd& crowd, Entry entry) {
    crowd.entry = entry;
    entries_.push(entry);
  }

  void LookAtCrowd(Entry entry, Schedule& ordered) {
    Crowd& crowd = CrowdOf(entry.second);
    if (crowd.entry != entry) return;  // it has another entry by now
    const std::int32_t first = crowd.messages.top();
    const Seconds start_s = PortsAllow(At(first));
    if (const Entry now{start_s, first}; now > entry) {
      Enter(crowd, now);
      return;
    }
    crowd.entry.reset();
    crowd.messages.pop();
    Place(first, start_s, ordered);
    if (!crowd.messages.empty()) Enter(crowd, {start_s, crowd.messages.top()});
  }

  void Place(std::int32_t index, Seconds start_s, Schedule& ordered) {
    Message& message = At(index);
    const Seconds end_s = clock_.PlaceNotBefore(message, start_s);
    lanes_.Place(message.sender, message.receiver, message.start_s,
                 message.start_s + message.flight_s + message.port_s);
    ordered.messages.push_back(message);
    if (message.receiver == ordered.root) ordered.makespan_s = std::max(ordered.makespan_s, end_s);
    waits_.Placed(index, [&](std::int32_t next) { entries_.emplace(start_s, next); });
  }

  std::vector<Message> messages_;
  PortClock clock_;
  LaneClock lanes_;
  ListWaits waits_;
  std::vector<bool> joined_;           // by message: its crowd speaks for it
  std::vector<std::size_t> crowd_of_;  // by message
  std::vector<Crowd> crowds_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;
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
  EarliestFirstOrder(schedule, ports, network, lanes_early_s, keeps_receives).Run(ordered);
  return ordered;
}

}  // namespace weir::planner::tree
