#include "planner/tree/hosts/host_times.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "planner/tree/hosts/lane_clock.h"
#include "planner/tree/model/schedule_timing.h"

namespace weir::planner::tree {

namespace {

// Times of one schedule that differ by less than this part of it are the same.
constexpr double kSameTime = 1e-9;

/// Which messages can be placed only after which: those before them on their ports, and the makers
/// of what they carry.
class MessageWaits {
 public:
  MessageWaits(const Schedule& schedule, const RunList& runs, PortModel ports)
      : waits_(schedule.messages.size(), 0), next_(schedule.messages.size()) {
    const auto machines = static_cast<std::size_t>(schedule.num_machines);
    std::vector<std::int32_t> last_send(machines, kOwnElement);
    std::vector<std::int32_t> last_receive(machines, kOwnElement);
    // Who sends, receives and combines by turns goes through all of its messages in one order.
    const bool one_order = !ports.full_duplex || !ports.overlaps_compute;
    std::vector<std::int32_t>& last_received = one_order ? last_send : last_receive;
    for (std::size_t k = 0; k < schedule.messages.size(); ++k) {
      const Message& message = schedule.messages[k];
      const auto index = static_cast<std::int32_t>(k);
      Add(last_send[static_cast<std::size_t>(message.sender)], index);
      Add(last_received[static_cast<std::size_t>(message.receiver)], index);
      for (const SegmentRun& run : runs.of_message[k].sent) Add(run.maker, index);
      last_send[static_cast<std::size_t>(message.sender)] = index;
      last_received[static_cast<std::size_t>(message.receiver)] = index;
    }
  }

  bool IsFree(std::int32_t message) const { return waits_[static_cast<std::size_t>(message)] == 0; }

  /// Returns the messages that waited for this one alone.
  std::vector<std::int32_t> Placed(std::int32_t message) {
    std::vector<std::int32_t> freed;
    for (const std::int32_t next : next_[static_cast<std::size_t>(message)]) {
      if (--waits_[static_cast<std::size_t>(next)] == 0) freed.push_back(next);
    }
    return freed;
  }

 private:
  void Add(std::int32_t before, std::int32_t message) {
    if (before == kOwnElement) return;
    next_[static_cast<std::size_t>(before)].push_back(message);
    ++waits_[static_cast<std::size_t>(message)];
  }

  std::vector<std::int32_t> waits_;
  std::vector<std::vector<std::int32_t>> next_;
};

class HostClock {
 public:
  HostClock(const Schedule& schedule, const RunList& runs, absl::Span<const Seconds> transfer_s,
            const ReductionHosts& hosts)
      : schedule_(schedule),
        runs_(runs),
        hosts_(hosts),
        ports_(schedule.num_machines, static_cast<std::int32_t>(schedule.segment_units.size()),
               hosts.ports, hosts.ready_s, hosts.ports.full_duplex && hosts.ports.overlaps_compute),
        lanes_(hosts.network, hosts.lanes_early_s),
        messages_(schedule.messages),
        times_(schedule.messages.size()) {
    for (std::size_t k = 0; k < messages_.size(); ++k) {
      Message& message = messages_[k];
      message.flight_s = 0;
      message.port_s = transfer_s[k];
      if (!hosts.combine_slowdown.empty()) {
        message.combine_s *= hosts.combine_slowdown[static_cast<std::size_t>(message.receiver)];
      }
    }
  }

  std::vector<MessageTimes> Times() && {
    if (OwnTimesHold()) {
      for (std::size_t k = 0; k < messages_.size(); ++k) Place(k, schedule_.messages[k].start_s);
    } else {
      PlaceEarliestFirst();
    }
    return std::move(times_);
  }

 private:
  WorkerIndex Worker(MachineIndex machine) const {
    return hosts_.workers[static_cast<std::size_t>(machine)];
  }

  bool OwnTimesHold() const {
    const Seconds same_s = kSameTime * schedule_.makespan_s;
    for (std::size_t k = 0; k < messages_.size(); ++k) {
      const Message& own = schedule_.messages[k];
      if (own.flight_s > 0 || std::abs(own.port_s - messages_[k].port_s) > same_s ||
          std::abs(own.combine_s - messages_[k].combine_s) > same_s) {
        return false;
      }
    }
    if (hosts_.network.cuts.empty()) return true;
    std::vector<std::size_t> by_start(messages_.size());
    std::iota(by_start.begin(), by_start.end(), 0);
    std::stable_sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
      return messages_[a].start_s < messages_[b].start_s;
    });
    LaneClock lanes(hosts_.network, hosts_.lanes_early_s);
    for (const std::size_t k : by_start) {
      const Message& message = messages_[k];
      const WorkerIndex from = Worker(message.sender);
      const WorkerIndex to = Worker(message.receiver);
      if (lanes.EarliestStart(from, to, message.start_s) > message.start_s + same_s) return false;
      lanes.Place(from, to, message.start_s, message.start_s + message.port_s);
    }
    return true;
  }

  Seconds EarliestStart(std::size_t k) {
    const Message& message = messages_[k];
    // A lane may fall free when a machine combines: both have to agree.
    Seconds start_s = ports_.EarliestStart(message);
    for (Seconds tried_s = -1; tried_s < start_s;) {
      tried_s = start_s;
      start_s = lanes_.EarliestStart(Worker(message.sender), Worker(message.receiver), tried_s);
      start_s = ports_.EarliestStart(message, start_s);
    }
    return start_s;
  }

  void Place(std::size_t k, Seconds not_before_s) {
    Message& message = messages_[k];
    const Seconds end_s = ports_.PlaceNotBefore(message, not_before_s);
    MessageTimes& times = times_[k];
    times.start_s = message.start_s;
    times.transfer_s = message.port_s;
    times.combine_s = message.combine_s;
    times.combine_begin_s = message.combine_s > 0 ? ports_.CombineBegin(message.receiver) : end_s;
    // What costs nothing to combine still waits for what the receiver holds.
    for (const SegmentRun& run : runs_.of_message[k].held) {
      times.combine_begin_s =
          std::max(times.combine_begin_s,
                   run.maker == kOwnElement ? hosts_.ReadyAt(message.receiver)
                                            : times_[static_cast<std::size_t>(run.maker)].EndAt());
    }
    lanes_.Place(Worker(message.sender), Worker(message.receiver), times.start_s,
                 times.ArrivalAt());
  }

  void PlaceEarliestFirst() {
    MessageWaits waits(schedule_, runs_, hosts_.ports);
    // A key is a lower bound of the start: it is looked at again when it comes up.
    using Key = std::pair<Seconds, std::int32_t>;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> open;
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(messages_.size()); ++k) {
      if (waits.IsFree(k)) open.emplace(0.0, k);
    }
    while (!open.empty()) {
      const auto [bound_s, index] = open.top();
      open.pop();
      const auto k = static_cast<std::size_t>(index);
      const Seconds start_s = EarliestStart(k);
      if (start_s > bound_s) {
        open.emplace(start_s, index);
        continue;
      }
      Place(k, start_s);
      for (const std::int32_t next : waits.Placed(index)) {
        open.emplace(EarliestStart(static_cast<std::size_t>(next)), next);
      }
    }
  }

  const Schedule& schedule_;
  const RunList& runs_;
  const ReductionHosts& hosts_;
  PortClock ports_;
  LaneClock lanes_;
  std::vector<Message> messages_;
  std::vector<MessageTimes> times_;
};

}  // namespace

std::vector<MessageTimes> TimeOnHosts(const Schedule& schedule, const RunList& runs,
                                      absl::Span<const Seconds> transfer_s,
                                      const ReductionHosts& hosts) {
  return HostClock(schedule, runs, transfer_s, hosts).Times();
}

absl::Status TimeUnderCuts(const NetworkModel& network, PortModel ports, Seconds lanes_early_s,
                           const std::vector<bool>& spreads, const std::vector<Seconds>& ready_s,
                           Schedule& schedule) {
  const absl::StatusOr<RunList> runs = FollowRuns(schedule, spreads);
  if (!runs.ok()) return runs.status();
  std::vector<Seconds> transfer_s;
  for (const Message& message : schedule.messages) {
    transfer_s.push_back(message.flight_s + message.port_s);
  }
  ReductionHosts hosts{network, {}, {}, ready_s, ports, lanes_early_s};
  hosts.workers.resize(static_cast<std::size_t>(schedule.num_machines));
  std::iota(hosts.workers.begin(), hosts.workers.end(), 0);
  const std::vector<MessageTimes> times = TimeOnHosts(schedule, *runs, transfer_s, hosts);
  schedule.makespan_s = ready_s.empty() ? 0 : hosts.ReadyAt(schedule.root);
  for (std::size_t k = 0; k < times.size(); ++k) {
    schedule.messages[k].start_s = times[k].start_s;
    if (!spreads.empty() || schedule.messages[k].receiver == schedule.root) {
      schedule.makespan_s = std::max(schedule.makespan_s, times[k].EndAt());
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::planner::tree
