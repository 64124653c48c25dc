#include "planner/tree/schedule_timing.h"

#include <algorithm>

namespace weir::planner::tree {

PortClock::PortClock(std::int32_t num_machines, std::int32_t num_segments, PortModel ports,
                     const std::vector<Seconds>& ready_s)
    : num_segments_(num_segments),
      ports_(ports),
      send_free_s_(static_cast<std::size_t>(num_machines), 0),
      receive_free_s_(send_free_s_),
      compute_free_s_(send_free_s_),
      partial_ready_s_(
          static_cast<std::size_t>(num_machines) * static_cast<std::size_t>(num_segments), 0) {
  for (std::size_t i = 0; i < ready_s.size(); ++i) {
    receive_free_s_[i] = ready_s[i];
    compute_free_s_[i] = ready_s[i];
    const auto machine = static_cast<MachineIndex>(i);
    for (std::int32_t j = 0; j < num_segments; ++j) partial_ready_s_[Cell(machine, j)] = ready_s[i];
  }
}

std::size_t PortClock::Cell(MachineIndex machine, std::int32_t segment) const {
  return static_cast<std::size_t>(machine) * static_cast<std::size_t>(num_segments_) +
         static_cast<std::size_t>(segment);
}

Seconds PortClock::EarliestStart(const Message& message) const {
  const MachineIndex from = message.sender;
  const MachineIndex to = message.receiver;
  Seconds start_s = std::max(send_free_s_[from], receive_free_s_[to] - message.flight_s);
  for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
    start_s = std::max(start_s, partial_ready_s_[Cell(from, j)]);
  }
  if (!ports_.full_duplex) {
    start_s = std::max({start_s, receive_free_s_[from], send_free_s_[to] - message.flight_s});
  }
  if (!ports_.overlaps_compute) {
    start_s = std::max({start_s, compute_free_s_[from], compute_free_s_[to] - message.flight_s});
  }
  return std::max(start_s, 0.0);
}

Seconds PortClock::Place(Message& message) {
  const MachineIndex from = message.sender;
  const MachineIndex to = message.receiver;
  message.start_s = EarliestStart(message);
  const Seconds arrival_s = message.start_s + message.flight_s + message.port_s;
  send_free_s_[from] = message.start_s + message.port_s;
  receive_free_s_[to] = arrival_s;
  Seconds combine_start_s = std::max(compute_free_s_[to], arrival_s);
  if (!ports_.overlaps_compute && message.combine_s > 0) {
    combine_start_s = std::max(combine_start_s, send_free_s_[to]);
  }
  // A message that is only kept is there when it has arrived: it waits for no combining.
  const Seconds end_s = message.combine_s > 0 ? combine_start_s + message.combine_s : arrival_s;
  if (message.combine_s > 0) compute_free_s_[to] = end_s;
  for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
    Seconds& ready_s = partial_ready_s_[Cell(to, j)];
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

}  // namespace weir::planner::tree
