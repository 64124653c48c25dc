#pragma once

// Reductions of machines in racks, which cross from rack to rack as little as they can.
// Upstream: racks, rabenseifner, tree_shapes. Downstream: selection, Schedule.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/network_model.h"
#include "planner/tree/hosts/racks.h"
#include "planner/tree/model/schedule.h"
#include "planner/tree/segments/tree_shapes.h"

namespace weir::planner::tree {

/// Most machines times segments of a schedule that keeps account of both: 2^24 take some 500 MB.
inline constexpr std::int64_t kRackCellsMax = std::int64_t{1} << 24;

/// What the builders of this header have in common. The network's workers are the machines; it says
/// nothing but the cuts, whose lanes decide which message goes first (EarliestFirst).
struct RackCosts {
  LinkCosts link;
  PortModel ports;
  const NetworkModel& network;
  /// By how much earlier than it ends a message gives its lanes back (EarliestFirst).
  Seconds lanes_early_s = 0;
};

/// Trees of which every rack sends one message a segment: within the rack to its head, from the
/// heads to the root's rack.
///
/// kBinomial: binomial trees within the racks and between their heads, a head's own rack first.
/// kPipeline: one line through all machines, rack by rack.
/// kTwoTree: two trees used in turns, in which every machine combines two messages in one and none
/// in
///   the other, as near as it comes: two-tree between racks (tree_shapes.h); within a rack the tree
///   of one half of its machines hangs below the head of that half. A message from another rack
///   goes to the head, the second to the other tree's head. So a port, and a rack both ways, carry
///   the element about once. Every machine receives in the order of segments: who may send early
///   crowds nobody out.
enum class RackShape { kBinomial, kPipeline, kTwoTree };

/// Returns the name of the shape's schedules: "rack binomial", "rack pipeline", "rack two-tree".
const char* RackShapeName(RackShape shape);

/// Returns the receivers of the shape's trees, racks[0][0] being the root.
std::vector<Receivers> RackTrees(const Racks& racks, RackShape shape);

/// Schedules the shape's trees, segment j along tree j mod their number, ordered by EarliestFirst.
///
/// Order: kBinomial and kPipeline keep the order of operands where the racks are ranges of ranks
/// one
///   behind the other and the root is rank 0; kTwoTree does not (CheckOrderPreserved).
/// Errors: kInvalidArgument naming p, segments, alpha, beta, gamma, racks.
/// Thread-safety: pure. Time: O(p q log(p q)).
/// Checked by: tests/unit/planner_tree/rack_schedules_test.cc.
absl::StatusOr<Schedule> RackTreeSchedule(const Racks& racks, RackShape shape,
                                          std::vector<double> units, const RackCosts& costs);

/// Schedules Rabenseifner's reduction (rabenseifner.h) with the nearest machines first: neighbours
/// of the rack order exchange halves, then pairs of neighbours, and so on, so that what crosses
/// between racks is an element over the machines of a rack. Machines beyond a power of two fold
/// into the neighbour before them. The element is cut into `parts` that follow each other, one
/// combined or gathered while the next is exchanged.
///
/// Segments: 2^floor(log2 p) * parts. Keeps the order of the operands where p is a power of two and
/// racks lie one behind the other (CheckOrderPreserved).
/// Errors: kInvalidArgument naming p, units, alpha, beta, gamma, racks, parts.
/// Thread-safety: pure. Time: O(p^2 parts).
/// Checked by: tests/unit/planner_tree/rack_schedules_test.cc.
absl::StatusOr<Schedule> NearFirstSchedule(const Racks& racks, double units, std::int32_t parts,
                                           const RackCosts& costs);

/// Schedules a reduction in rails: every rack scatters its sum over K = 2^floor(log2 h) of its
/// machines (recursive halving; h = machines of the smallest rack) and gathers it on `rails` of
/// them; machine i of every rack and its like in the other racks reduce their piece along a
/// binomial tree to the root's rack, which gathers them. `parts` as above.
///
/// Segments: K * parts. Needs a commutative operation.
/// Requires: rails a power of two, at most K.
/// Errors: kInvalidArgument naming p, units, alpha, beta, gamma, racks, rails, parts.
/// Thread-safety: pure. Time: O(p K parts).
/// Checked by: tests/unit/planner_tree/rack_schedules_test.cc.
absl::StatusOr<Schedule> RackRailsSchedule(const Racks& racks, double units, std::int32_t rails,
                                           std::int32_t parts, const RackCosts& costs);

/// Returns the machines that take the places of RabenseifnerSchedule's, so that near ones exchange
/// first. Requires: racks of p machines in all.
std::vector<MachineIndex> NearFirstNames(const Racks& racks);

/// Returns K of RackRailsSchedule.
std::int32_t MostRails(const Racks& racks);

}  // namespace weir::planner::tree
