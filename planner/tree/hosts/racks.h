#pragma once

// Which machines are near each other, and the order of messages that fits the lanes between them.
// Upstream: NetworkModel. Downstream: rack_schedules, selection, spreading.

#include <vector>

#include "planner/plan/network_model.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Machines by rack: every machine once, no rack empty. racks[0][0] is the root of what is built.
using Racks = std::vector<std::vector<MachineIndex>>;

/// Returns the machines that stand on the same sides of all cuts together, machine i being worker
/// i. The rack of `root` is the first and root its first machine; else by number. Requires:
/// CheckNetwork is OK; root below num_workers.
Racks RacksOf(const NetworkModel& network, MachineIndex root);

/// Returns all machines, rack by rack.
std::vector<MachineIndex> RackOrder(const Racks& racks);

/// Orders the messages anew: always the one that can start first, ties by its place in the list.
/// Sets starts and makespan.
///
/// Model: machine i is worker i; a message holds its ports and, for the time from its start to its
///   arrival, its lanes of every cut that it crosses; it comes after those of the list that make
///   what it carries, and into one machine the messages of a segment keep the list's order. So who
///   joins whom is that of the list.
/// Symbols: lanes_early_s = by how much earlier than it ends a message gives its lanes back;
///   keeps_receives = every machine receives in the list's order, whatever the segment.
/// Requires: a schedule whose list can be carried out in its order; CheckNetwork is OK and
///   num_workers is num_machines.
/// Thread-safety: pure. Time: O(messages * segments per message log) where ports and cuts have few
///   pairs that wait for them; what waits is looked at once a pair and length, not once a message.
///   Memory: 16 bytes a machine and segment.
/// Checked by: tests/unit/planner_tree/earliest_first_test.cc.
Schedule EarliestFirst(const Schedule& schedule, PortModel ports, const NetworkModel& network,
                       Seconds lanes_early_s = 0, bool keeps_receives = false);

}  // namespace weir::planner::tree
