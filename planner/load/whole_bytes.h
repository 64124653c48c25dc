#pragma once

// From fractions to whole bytes without losing any.
// Upstream: loads, schedule_layer.h. Downstream: planner/job (input ranges, sections, transfers).

#include <vector>

#include "absl/types/span.h"
#include "planner/load/communication.h"
#include "planner/plan/units.h"

namespace weir::planner::load {

/// Splits `total` in proportion to `weights` so that the parts add up to it: part k is the
/// difference of rounded running sums, at most one byte from its exact size.
///
/// Requires: total >= 0; weights >= 0 with a positive sum.
std::vector<Bytes> SplitBytes(Bytes total, absl::Span<const double> weights);

/// One transfer of whole bytes, in schedule order.
struct ByteTransfer {
  std::int32_t sender = 0;
  std::int32_t receiver = 0;
  /// Range within what the sender has for the receiver.
  Bytes offset = 0;
  Bytes bytes = 0;
  /// Planned begin, in the time unit of the pieces.
  double begin = 0;
};

/// Turns pieces into whole-byte transfers that tile every pair's bytes exactly.
///
/// Pieces too short for one byte vanish into their neighbours; a pair with bytes but no piece
/// (rounded away) is sent last. Requires: pieces in order of begin; bytes[j][k] >= 0.
std::vector<ByteTransfer> WholeByteTransfers(const std::vector<Piece>& pieces,
                                             const std::vector<std::vector<Bytes>>& bytes);

/// Same with one transfer a pair, ordered by the middle of what the pieces sent: the order of the
/// schedule with the least number of grants.
std::vector<ByteTransfer> OneTransferPerPair(const std::vector<Piece>& pieces,
                                             const std::vector<std::vector<Bytes>>& bytes);

}  // namespace weir::planner::load
