#pragma once

// Exact reduction of machines with any speeds (003, section 6.2), searched from the destination
// backwards. Upstream: selection, instance files. Downstream: starting order for EP.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// States that the search may remember (about 300 bytes each) before it gives up.
inline constexpr std::int64_t kSlotStatesMax = 1'000'000;

/// Optimum over all schedules, or the best found.
struct SlotSearchResult {
  Seconds makespan_s = 0;
  std::int64_t num_nodes = 0;
  /// False when kSlotStatesMax ended the search: makespan_s is then an upper bound.
  bool proven = true;
  /// Times of the senders in a starting order whose EP has this makespan.
  std::vector<Seconds> ordered_times;
};

/// Searches the optimal reduction by branch and bound over reversed time.
///
/// Method: reversed, a message needs a free slot, the destination's at 0, and leaves two slots at
///   its end. Fast machines come first (Corollary 1), so the senders are placed fastest first and a
///   state is the multiset of slots. Bound: the rest placed as if all were as fast as the next one,
///   matched slowest to earliest. A state met again with a maximum not smaller than before is cut:
///   the memo keeps the maximum with the slots.
/// Errors: kInvalidArgument naming senders[i].
/// Bounds: about 100 to 200 nodes for 21 senders of three classes (003 prints 1 187 418), some 21
///   distinct speeds in 1 s.
/// Checked by: tests/unit/planner_tree/heterogeneous_property_test.cc.
absl::StatusOr<SlotSearchResult> SearchSlots(const std::vector<Seconds>& times);

}  // namespace weir::planner::tree
