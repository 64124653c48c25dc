#pragma once

// Times of a schedule's messages on given hosts: slow ports, cuts, slow combining, release dates.
// Upstream: message_runs. Downstream: tree_plan.

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "planner/plan/network_model.h"
#include "planner/tree/hosts/message_runs.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// What carries out the machines of a schedule. Lists by machine; empty ones say 1 or 0 of all.
struct ReductionHosts {
  const NetworkModel& network;
  std::vector<WorkerIndex> workers;
  std::vector<double> combine_slowdown;
  std::vector<Seconds> ready_s;
  PortModel ports;
  /// By how much earlier than it ends a message gives its lanes back (LaneClock).
  Seconds lanes_early_s = 0;

  Seconds ReadyAt(MachineIndex machine) const {
    return ready_s.empty() ? 0 : ready_s[static_cast<std::size_t>(machine)];
  }
};

/// When a message travels, and when its receiver combines it.
struct MessageTimes {
  Seconds start_s = 0;
  Seconds transfer_s = 0;
  Seconds combine_begin_s = 0;
  Seconds combine_s = 0;

  Seconds ArrivalAt() const { return start_s + transfer_s; }
  Seconds EndAt() const { return combine_begin_s + combine_s; }
};

/// Times the messages on the hosts, keeping the schedule's order on every port.
///
/// Model: message k holds both ports for transfer_s[k], latency included, and its lanes of every
///   cut that it crosses; combining lasts combine_s times the receiver's slow-down. Where all
///   messages last as in the schedule and no cut carries too much, the schedule's own starts are
///   kept; else each message starts as early as the order of its ports, its partials and the lanes
///   allow, the earliest first, ties by index. A machine that overlaps receives before its own
///   element is ready.
/// Requires: CheckNetwork is OK; `runs` is the schedule's; transfer_s has an entry a message, the
///   lists of `hosts` one a machine, or none.
/// Thread-safety: pure. Time: O(messages * (cuts + segments per message) log).
/// Checked by: tests/unit/planner_tree/family_plans_test.cc.
std::vector<MessageTimes> TimeOnHosts(const Schedule& schedule, const RunList& runs,
                                      absl::Span<const Seconds> transfer_s,
                                      const ReductionHosts& hosts);

/// Sets starts and makespan to those of TimeOnHosts, machine i being worker i. The makespan is when
/// the root has combined its last message, or, where some message `spreads` (FollowRuns), when
/// every machine has its last. Symbols: lanes_early_s as in ReductionHosts. Requires: CheckNetwork
/// is OK; num_workers is num_machines; latency holds the ports. Errors: those of FollowRuns.
/// Thread-safety: pure. Time: as TimeOnHosts. Checked by:
/// tests/unit/planner_tree/cut_choice_test.cc.
absl::Status TimeUnderCuts(const NetworkModel& network, PortModel ports, Seconds lanes_early_s,
                           const std::vector<bool>& spreads, const std::vector<Seconds>& ready_s,
                           Schedule& schedule);

}  // namespace weir::planner::tree
