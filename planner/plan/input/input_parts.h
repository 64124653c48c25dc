#pragma once

// Bytes of input that count by what they cost to map. Upstream: the shape of a job. Downstream:
// plans, whose input ranges are counted so; the orders of their map steps.
//
// Text of many kinds has parts whose bytes cost several times what those of others do: more records
// or more new keys a byte. A plan whose bytes all cost the same stays simple: only what it counts
// changes. Position x of the plan stands for that position of the input before which the same part
// of the cost lies.

#include <vector>

#include "absl/types/span.h"
#include "planner/plan/units.h"

namespace weir::planner {

/// Returns where the parts of the input end, counted by cost: part i of n, the bytes from
/// i total / n to (i + 1) total / n, weighs weights[i] a byte beside the others. The last is
/// `input_bytes`. Empty, which says that bytes count alike, where there are fewer than two weights,
/// or less than a byte of the input for a part, counted either way. Requires: weights are positive
/// and finite. Thread-safety: pure.
std::vector<Bytes> InputPartEnds(absl::Span<const double> weights, Bytes input_bytes);

/// Returns the position in the input that `counted`, one of the plan, stands for. 0 and the input's
/// end are themselves, and what rises there does not fall here; so ranges that tile the one tile
/// the other. In whole numbers, so that every machine says the same. Requires: CheckPlan holds of
/// the ends; 0 <= counted <= input_bytes.
/// Checked by: tests/unit/planner_plan/input_parts_test.cc.
Bytes InputPosition(absl::Span<const Bytes> part_ends, Bytes counted);

/// Returns how much of the plan's [begin, end) stands for the first `read` bytes of the input that
/// it stands for: 0 of none, all of it of all, in between to within a byte or two. Requires: as
/// InputPosition; 0 <= begin <= end.
Bytes CountedBytes(absl::Span<const Bytes> part_ends, Bytes begin, Bytes end, Bytes read);

}  // namespace weir::planner
