#pragma once

// Pieces of a step's result: made by all slots at once, handed on one after the other. Upstream:
// layers of the engine. Downstream: piece_sinks.h. docs/adr/0029 says why.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"

namespace weir {

/// What pieces may hold for each slot until their turn comes, all of them together; with more they
/// wait. Some pieces of kPieceBytes.
inline constexpr std::int64_t kHeldPieceBytes = 4 << 20;

/// What a piece has left to be handed on in its turn.
struct LeftByPiece {
  std::int64_t bytes = 0;
  std::function<absl::Status()> hand_on;
};

/// Whose turn it is to hand on what it made, and whether an earlier piece failed.
///
/// Thread-safety: any thread.
class PieceTurns {
 public:
  /// Pieces should hold fewer than `held_bytes_max` bytes.
  explicit PieceTurns(std::int64_t held_bytes_max = 0) : held_bytes_max_(held_bytes_max) {}

  /// True once every piece before `piece` was handed on; false when one of them failed.
  bool Await(int piece);
  /// As Await, without waiting: false also while an earlier piece is still made.
  bool IsNow(int piece);
  /// Leaves what a piece made to whoever ends the turn before its own; false, and nothing left,
  /// where its turn is now.
  bool Leave(int piece, std::vector<LeftByPiece>& left);
  /// Ends the turn of `piece`, then hands on what pieces right behind it have left.
  /// Requires: Await(piece) was true.
  void EndTurn(int piece, absl::Status status);
  /// Of who failed in its turn: one at most.
  absl::Status error();
  bool failed() { return !error().ok(); }

  /// Hands on in the order in which it was left, up to the first error. What one throws is an error
  /// to those who wait, and thrown by Rethrow. Requires: the turn.
  absl::Status HandOn(std::vector<LeftByPiece> left);
  /// Requires: all have ended.
  void Rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

  /// Counts bytes that pieces hold (less than 0: no longer). False where they hold enough.
  bool Hold(std::int64_t bytes);

 private:
  const std::int64_t held_bytes_max_;
  std::mutex mutex_;  // guards all below
  std::condition_variable next_;
  int now_ = 0;
  absl::Status error_;
  std::map<int, std::vector<LeftByPiece>> left_;  // by piece
  std::int64_t held_bytes_ = 0;
  std::exception_ptr thrown_;  // by what was handed on
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

  /// Leaves `bytes` bytes, which the piece holds, to be handed on in its turn, by this or another
  /// slot, perhaps after `make` has returned; several in the order in which they were left.
  void Leave(std::int64_t bytes, std::function<absl::Status()> hand_on) {
    left_.push_back({bytes, std::move(hand_on)});
  }
  /// Counts bytes that the piece holds (less than 0: no longer). False where pieces hold enough:
  /// then this one should await its turn.
  bool Hold(std::int64_t bytes) { return turns_.Hold(bytes); }

  // For MakePieces.
  int piece() const { return piece_; }
  /// Hands on what was left, or leaves it to whoever has the turn before, once `make` has returned.
  void End(absl::Status made);

 private:
  PieceTurns& turns_;
  const int piece_;
  bool mine_ = false;
  std::vector<LeftByPiece> left_;
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
/// Blocking: a piece waits for those before it only, which other slots are making; what was left
///   waits without a slot.
/// Bounds: pieces that wait or are left hold kHeldPieceBytes for each slot, all together, and what
///   each slot adds at a time.
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
