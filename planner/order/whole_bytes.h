#pragma once

// From real shares to whole bytes without losing any.
// Upstream: load fractions, chunk sizes, piece sizes as builders compute them. Downstream:
// plan_assembly, builders.

#include <vector>

#include "absl/types/span.h"
#include "planner/plan/units.h"

namespace weir::planner {

/// Splits `total` into shares.size() whole parts in proportion to `shares`; the parts add up to
/// `total` exactly.
///
/// Model: the borders between parts are the running sums of the shares, rounded to the nearest
///   byte, so each part is within one byte of its real size and a share of 0 gets 0 bytes. Shares
///   that are all 0 are taken as equal.
/// Requires: total >= 0; shares >= 0 and finite; not empty unless total is 0.
/// Thread-safety: pure; summed in index order.
/// Example: 10 bytes, shares {1, 1, 1} -> {3, 4, 3}.
/// Checked by: tests/unit/planner_plan/plan_assembly_test.cc (WholeBytesTest).
std::vector<Bytes> WholeBytes(Bytes total, absl::Span<const double> shares);

}  // namespace weir::planner
