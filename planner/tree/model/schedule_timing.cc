#include "planner/tree/model/schedule_timing.h"

#include <algorithm>

namespace weir::planner::tree {

PortClock::PortClock(std::int32_t num_machines, std::int32_t num_segments, PortModel ports,
                     const std::vector<Seconds>& ready_s, bool receives_early)
    : num_segments_(num_segments),
      ports_(ports),
      send_free_s_(static_cast<std::size_t>(num_machines), 0),
      receive_free_s_(send_free_s_),
      combine_(send_free_s_.size()),
      partial_ready_s_(
          static_cast<std::size_t>(num_machines) * static_cast<std::size_t>(num_segments), 0) {
  for (std::size_t i = 0; i < ready_s.size(); ++i) {
    if (!receives_early) receive_free_s_[i] = ready_s[i];
    combine_[i] = {ready_s[i], ready_s[i], ready_s[i]};
    const auto machine = static_cast<MachineIndex>(i);
    for (std::int32_t j = 0; j < num_segments; ++j) partial_ready_s_[Cell(machine, j)] = ready_s[i];
  }
}

std::size_t PortClock::Cell(MachineIndex machine, std::int32_t segment) const {
  return static_cast<std::size_t>(machine) * static_cast<std::size_t>(num_segments_) +
         static_cast<std::size_t>(segment);
}

// A transfer that fits between the last two combines of a machine may still go before the last one:
// in a round of a full- duplex schedule a machine sends while it receives what it combines
// afterwards.
Seconds PortClock::OutsideCombine(MachineIndex machine, Seconds start_s, Seconds duration_s) const {
  const CombineWindow& combine = combine_[machine];
  start_s = std::max(start_s, combine.previous_end_s);
  return start_s + duration_s <= combine.begin_s ? start_s : std::max(start_s, combine.end_s);
}

Seconds PortClock::EarliestStart(const Message& message, Seconds start_s) const {
  const MachineIndex from = message.sender;
  const MachineIndex to = message.receiver;
  start_s = std::max({start_s, send_free_s_[from], receive_free_s_[to] - message.flight_s});
  for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
    start_s = std::max(start_s, partial_ready_s_[Cell(from, j % num_segments_)]);
  }
  if (!ports_.full_duplex) {
    start_s = std::max({start_s, receive_free_s_[from], send_free_s_[to] - message.flight_s});
  }
  if (!ports_.overlaps_compute) {
    for (Seconds tried_s = -1; tried_s < start_s;) {
      tried_s = start_s;
      start_s = OutsideCombine(from, start_s, message.port_s);
      const Seconds received_s = start_s + message.flight_s;
      const Seconds allowed_s = OutsideCombine(to, received_s, message.port_s);
      if (allowed_s > received_s) start_s = allowed_s - message.flight_s;
    }
  }
  return std::max(start_s, 0.0);
}

Seconds PortClock::PlaceNotBefore(Message& message, Seconds start_s) {
  const MachineIndex from = message.sender;
  const MachineIndex to = message.receiver;
  message.start_s = EarliestStart(message, start_s);
  const Seconds arrival_s = message.start_s + message.flight_s + message.port_s;
  send_free_s_[from] = message.start_s + message.port_s;
  receive_free_s_[to] = arrival_s;
  // A message that is only kept is there when it has arrived: it waits for no combining.
  Seconds end_s = arrival_s;
  if (message.combine_s > 0) {
    CombineWindow& combine = combine_[to];
    combine.previous_end_s = combine.end_s;
    combine.begin_s = std::max(combine.end_s, arrival_s);
    if (!ports_.overlaps_compute) combine.begin_s = std::max(combine.begin_s, send_free_s_[to]);
    combine.end_s = combine.begin_s + message.combine_s;
    end_s = combine.end_s;
  }
  for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
    Seconds& ready_s = partial_ready_s_[Cell(to, j % num_segments_)];
    ready_s = std::max(ready_s, end_s);
  }
  return end_s;
}

void TimeMessages(Schedule& schedule, PortModel ports, const std::vector<Seconds>& ready_s) {
  PortClock clock(schedule.num_machines, static_cast<std::int32_t>(schedule.segment_units.size()),
                  ports, ready_s);
  schedule.makespan_s = ready_s.empty() ? 0 : ready_s[schedule.root];
  for (Message& message : schedule.messages) {
    const Seconds end_s = clock.Place(message);
    if (message.receiver == schedule.root)
      schedule.makespan_s = std::max(schedule.makespan_s, end_s);
  }
}

std::vector<Seconds> CombineEnds(const Schedule& schedule, PortModel ports) {
  std::vector<Seconds> sent_s(static_cast<std::size_t>(schedule.num_machines), 0);
  std::vector<Seconds> combined_s(sent_s.size(), 0);
  std::vector<Seconds> ends_s;
  for (const Message& message : schedule.messages) {
    sent_s[message.sender] = message.start_s + message.port_s;
    Seconds end_s = message.start_s + message.flight_s + message.port_s;
    if (message.combine_s > 0) {
      end_s = std::max(end_s, combined_s[message.receiver]);
      if (!ports.overlaps_compute) end_s = std::max(end_s, sent_s[message.receiver]);
      end_s += message.combine_s;
      combined_s[message.receiver] = end_s;
    }
    ends_s.push_back(end_s);
  }
  return ends_s;
}

}  // namespace weir::planner::tree
