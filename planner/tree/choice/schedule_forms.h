#pragma once

// Brings single trees and sender schedules into the common form, and renames machines.
// Upstream: greedy_tree, release_dates, earliest_possible. Downstream: Schedule.

#include <cstdint>
#include <string>
#include <vector>

#include "planner/tree/model/schedule.h"
#include "planner/tree/model/timed_tree.h"
#include "planner/tree/speeds/earliest_possible.h"

namespace weir::planner::tree {

/// Returns the tree as a schedule of one segment of `units`; a transfer takes d, a combine c. The
/// root is the machine without receiver.
Schedule FromTree(std::string method, const TimedTree& tree, ElementCosts costs, double units);

/// Returns a sender schedule as messages: machine 0 is the destination, sender i machine i + 1. A
///   message takes t_i and needs no combining (003 counts it in t_i).
Schedule FromSenders(std::string method, const SenderSchedule& senders,
                     const std::vector<Seconds>& times, double units);

/// Lengthens each message, whose ports hold it as long as `costs` say, to what the slower of its
/// two ports takes for its units; starts and makespan stay. Symbols: slowdown = time of each
/// machine's transfers relative to `costs`, one a machine, or empty. Latency and combining take no
/// longer.
void SlowDownPorts(const std::vector<double>& slowdown, const LinkCosts& costs, Schedule& schedule);

/// Returns how many messages are on ports at once, at most. Those that begin when others end do not
/// count with them. Thread-safety: pure. Time: O(messages log).
std::int64_t MostTransfersAtOnce(const Schedule& schedule);

/// Renames machine i to name[i]. Requires: name is a permutation of 0 .. num_machines - 1.
void RenameMachines(const std::vector<MachineIndex>& name, Schedule& schedule);

}  // namespace weir::planner::tree
