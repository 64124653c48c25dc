#pragma once

// The messages of a collective by start, none before what brings it.
// Upstream: spreading. Downstream: SpreadingSchedule.

#include "planner/tree/choice/spreading.h"

namespace weir::planner::tree {

/// Sorts the messages by start, each after all that bring its sender what it carries; ties keep
/// their order. Makers start before what carries theirs, but where messages take no time, or so
/// little that it is lost beside when they start.
///
/// Requires: a list in which makers stand before what carries theirs, or, with `makers_last`,
///   behind it.
/// Thread-safety: pure. Time: O(messages * segments per message log). Memory: 16 bytes a machine
///   and segment.
/// Checked by: tests/unit/planner_tree/spreading_test.cc.
void SortByStart(bool makers_last, SpreadingSchedule& collective);

}  // namespace weir::planner::tree
