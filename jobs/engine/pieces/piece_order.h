#pragma once

// Pieces of a step's result: made by all slots at once, handed on one after the other. Upstream:
// layers of the engine. Downstream: piece_sinks.h. docs/adr/0029 says why.

#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"

namespace weir {

/// Whose turn it is to hand on what it made, and whether an earlier piece failed.
///
/// Thread-safety: any thread.
class PieceTurns {
 public:
  /// True once every piece before `piece` was handed on; false when one of them failed.
  bool Await(int piece);
  /// As Await, without waiting: false also while an earlier piece is still made.
  bool IsNow(int piece);
  /// Ends the turn of `piece`. Requires: Await(piece) was true.
  void EndTurn(int piece, bool ok);
  bool failed();

 private:
  std::mutex mutex_;  // guards all below
  std::condition_variable next_;
  int now_ = 0;
  bool failed_ = false;
};

/// A piece that is being made.
class PieceTurn {
 public:
  PieceTurn(PieceTurns& turns, int piece) : turns_(turns), piece_(piece) {}

  /// Waits until every piece before this one was handed on: what the pieces share is this one's
  /// from then on. False when one of them failed; then this piece is no longer needed.
  bool Await() { return mine_ || (mine_ = turns_.Await(piece_)); }
  /// As Await, without waiting.
  bool IsNow() { return mine_ || (mine_ = turns_.IsNow(piece_)); }

 private:
  PieceTurns& turns_;
  const int piece_;
  bool mine_ = false;
};

/// Calls make(piece, turn) for the pieces 0 .. num_pieces - 1, which slots take in rising order,
/// and ends the turn of each when make has returned. With one slot each piece has its turn at once.
///
/// Slots beyond the first `num_slots` make none.
///
/// Errors: that of the lowest piece that failed, whichever slot made it, as if one slot had made
///   them all; what make throws is thrown again, by the same rule. kCancelled when the job is being
///   ended. Pieces after a failed one are not begun any more.
/// Thread-safety: `make` is called on several slots at a time, for different pieces.
/// Blocking: a piece waits for those before it only, which other slots are making.
/// Checked by: tests/unit/jobs/piece_order_test.cc.
absl::Status MakePieces(int num_pieces, StepContext& context,
                        const std::function<absl::Status(int piece, PieceTurn& turn)>& make,
                        int num_slots = std::numeric_limits<int>::max());

/// As MakePieces, where nobody knows how many pieces there are: until make returns false, that
/// there is no such piece, nor any behind it.
absl::Status MakePiecesUntil(
    StepContext& context,
    const std::function<absl::StatusOr<bool>(int piece, PieceTurn& turn)>& make,
    int num_slots = std::numeric_limits<int>::max());

}  // namespace weir
