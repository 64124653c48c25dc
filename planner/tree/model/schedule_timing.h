#pragma once

// Earliest times of a list of messages under a port model.
// Upstream: builders that fix the order of messages. Downstream: Schedule with start_s and
// makespan_s.

#include <vector>

#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// State of every port and partial while messages are placed one after another, each as early as
/// those before allow.
class PortClock {
 public:
  /// ready_s: when each machine's own element is ready; empty = all 0. Before that a machine
  /// receives only if `receives_early`.
  PortClock(std::int32_t num_machines, std::int32_t num_segments, PortModel ports,
            const std::vector<Seconds>& ready_s = {}, bool receives_early = false);

  /// Returns the earliest start of a message that is not before `start_s`, changing nothing.
  Seconds EarliestStart(const Message& message, Seconds start_s = 0) const;

  /// Places a message at its earliest start, which it stores in start_s. Returns when the receiver
  /// has combined it.
  Seconds Place(Message& message) { return PlaceNotBefore(message, 0); }

  /// The same, but starts it no earlier than `start_s`.
  Seconds PlaceNotBefore(Message& message, Seconds start_s);

  /// Returns when the machine began to combine the last message that it combined.
  Seconds CombineBegin(MachineIndex machine) const {
    return combine_[static_cast<std::size_t>(machine)].begin_s;
  }

 private:
  /// What a machine without overlap combines: its ports rest meanwhile.
  struct CombineWindow {
    Seconds previous_end_s = 0;
    Seconds begin_s = 0;
    Seconds end_s = 0;
  };

  std::size_t Cell(MachineIndex machine, std::int32_t segment) const;
  Seconds OutsideCombine(MachineIndex machine, Seconds start_s, Seconds duration_s) const;

  std::int32_t num_segments_;
  PortModel ports_;
  std::vector<Seconds> send_free_s_;
  std::vector<Seconds> receive_free_s_;
  std::vector<CombineWindow> combine_;
  std::vector<Seconds> partial_ready_s_;  // by Cell
};

/// Starts every message as early as the list order, the ports, and the partials it carries allow;
/// sets makespan_s to the time at which the root has combined its last message.
///
/// Model: a machine combines in list order; without overlap combining waits for the machine's own
///   sends and keeps it from both directions.
/// Time: O(messages * segments per message).
void TimeMessages(Schedule& schedule, PortModel ports, const std::vector<Seconds>& ready_s = {});

/// Returns when the receiver of each message holds it combined, by message, with the starts as they
/// stand in the schedule. Model: as TimeMessages. Thread-safety: pure.
/// Checked by: tests/unit/planner_tree/every_algorithm_test.cc.
std::vector<Seconds> CombineEnds(const Schedule& schedule, PortModel ports);

}  // namespace weir::planner::tree
