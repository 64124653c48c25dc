#pragma once

// What one job's scheduler asks before it lets a transfer move: whether other jobs leave it room.
// Upstream: TransferScheduler. Downstream: PortShare.

#include <optional>

#include "planner/plan/units.h"

namespace weir::master {

/// Says which transfers may move now as far as other jobs are concerned. The scheduler keeps the
/// rules of its own plan by itself, and asks last.
/// Time: seconds from the start of the run, as the scheduler's.
class TransferGate {
 public:
  virtual ~TransferGate() = default;

  /// The scheduler looks for what may start, from here to EndTurn.
  virtual void BeginTurn(planner::Seconds now_s) = 0;
  virtual void EndTurn() = 0;
  /// Within a turn: whether a transfer that could start now may. One that may not is wanted until
  /// the next turn; asked again in the same turn, it is refused again. One that may is refused
  /// later in the turn only where shares_cuts holds.
  virtual bool MayMove(planner::TransferIndex transfer) = 0;
  /// Within a turn: whether what begins to move may take from others that they may move.
  virtual bool shares_cuts() const = 0;
  /// It moves from now on, and is expected to for `seconds`.
  virtual void Moves(planner::TransferIndex transfer, planner::Seconds seconds) = 0;
  /// One that moved gives its ports back.
  virtual void Passed(planner::TransferIndex transfer) = 0;
  /// After a turn: the next moment at which time alone may let one of those wanted move.
  virtual std::optional<planner::Seconds> next_look_s() const = 0;
};

}  // namespace weir::master
