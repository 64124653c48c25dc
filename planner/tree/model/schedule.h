#pragma once

// Messages of a collective over segments: the common form of every schedule of this folder.
// Upstream: builders (circulant, rabenseifner, unidirectional_greedy, ...). Downstream:
// schedule_timing, operand_order, tree_plan (-> planner::Plan).

#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan/units.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Hockney costs of 001 and 002: a message of s units takes alpha + beta s, combining it takes
/// gamma s.
struct LinkCosts {
  Seconds alpha_s = 0;
  Seconds beta_s_per_unit = 0;
  Seconds gamma_s_per_unit = 0;
};

/// What a machine can do at once.
///
/// 002 unidirectional = {false, false, true}; 002 bidirectional = {true, false, true}; 000 and the
/// executor of Weir = {true, true, true}; 001 = {true, true, false}: its latency delays a message
/// but holds no port.
struct PortModel {
  bool full_duplex = true;
  bool overlaps_compute = true;
  bool latency_holds_ports = true;
};

/// One message: the sender's partials of the segments [segment_begin, segment_end), which it gives
/// up. Segments past the last one stand for those from 0 again: ranges may wrap around.
struct Message {
  MachineIndex sender = 0;
  MachineIndex receiver = 0;
  std::int32_t segment_begin = 0;
  std::int32_t segment_end = 0;
  /// Time between leaving the sender's port and reaching the receiver's (alpha of 001), time on
  /// each port, and time to combine on the receiver; 0 when the receiver holds nothing of these
  /// segments and only keeps them.
  Seconds flight_s = 0;
  Seconds port_s = 0;
  Seconds combine_s = 0;
  /// When the sender's port is taken; set by TimeMessages.
  Seconds start_s = 0;
};

/// Makespans that differ by less are the same.
inline constexpr Seconds kScheduleTie = 1e-9;

/// A reduction of num_segments segments from every machine to machine `root`.
///
/// The list is the order of every port and of every machine's combining: a machine takes its
/// messages in this order.
struct Schedule {
  std::string method;
  std::int32_t num_machines = 1;
  MachineIndex root = 0;
  /// Size of each segment, in the unit of LinkCosts.
  std::vector<double> segment_units;
  std::vector<Message> messages;
  Seconds makespan_s = 0;
};

/// Returns a schedule without messages. `units` holds the segment sizes.
Schedule EmptySchedule(std::string method, std::int32_t num_machines, std::vector<double> units);

/// Returns the message of the segments [begin, end) with the costs of their total size.
Message MakeMessage(const Schedule& schedule, const LinkCosts& costs, const PortModel& ports,
                    MachineIndex sender, MachineIndex receiver, std::int32_t segment_begin,
                    std::int32_t segment_end, bool combines = true);

/// Returns `num_segments` equal sizes that add up to `units`.
std::vector<double> EqualSegments(double units, std::int32_t num_segments);

}  // namespace weir::planner::tree
