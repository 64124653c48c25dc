#pragma once

// Plans of reduction trees as a job runs them: a map step a machine, the tree of one family, and
// one reduce step at its root.

#include <cstdint>
#include <string>

#include "planner/plan/plan.h"

namespace weir::master {

/// What a tree is planned for, beside what the family and the rest of the seed decide.
struct TreeJob {
  std::int32_t num_machines = 1;
  planner::NetworkModel network;
  planner::Bytes input_bytes = 0;
  planner::Seconds map_seconds_per_byte = 0;
  /// Size of an element, and its places; 0: as many places as the family wants, of 8 bytes each.
  planner::Bytes element_bytes = 0;
  std::int64_t places = 0;
};

/// Plans a job of which all machines map an equal share of the input and reduce along the tree of
/// one family, drawn by the seed. With `keeps_order` only families whose operands keep theirs.
planner::Plan TreePlanOf(const TreeJob& job, std::uint64_t seed, bool keeps_order);

/// Any family on 1 to 8 machines with random costs, slow ports and cuts.
planner::Plan RandomTreePlan(std::uint64_t seed);

}  // namespace weir::master
