#include "jobs/engine/pieces/piece_order.h"

#include <atomic>
#include <utility>

namespace weir {

bool PieceTurns::Await(int piece) {
  std::unique_lock lock(mutex_);
  next_.wait(lock, [this, piece] { return failed_ || now_ == piece; });
  return !failed_;
}

bool PieceTurns::IsNow(int piece) {
  const std::lock_guard lock(mutex_);
  return !failed_ && now_ == piece;
}

void PieceTurns::EndTurn(int piece, bool ok) {
  const std::lock_guard lock(mutex_);
  now_ = piece + 1;
  if (!ok) failed_ = true;
  next_.notify_all();
}

bool PieceTurns::failed() {
  const std::lock_guard lock(mutex_);
  return failed_;
}

absl::Status MakePiecesUntil(
    StepContext& context,
    const std::function<absl::StatusOr<bool>(int piece, PieceTurn& turn)>& make, int num_slots) {
  PieceTurns turns;
  std::atomic<int> next = 0;
  std::atomic<bool> all_made = false;
  absl::Status first_error;  // of who failed in its turn: one at most
  context.slots().RunOnAll([&](int slot) {
    if (slot >= num_slots) return;
    // Who took a piece makes it, whatever happens: others may wait for what it shares.
    while (!all_made && !turns.failed() && !context.cancelled()) {
      const int piece = next.fetch_add(1);
      PieceTurn turn(turns, piece);
      absl::StatusOr<bool> made = false;
      try {
        made = make(piece, turn);
      } catch (...) {
        if (!turn.Await()) return;
        turns.EndTurn(piece, false);
        throw;
      }
      if (made.ok() && !*made) {
        all_made = true;
        return;
      }
      if (!turn.Await()) return;
      if (!made.ok()) first_error = made.status();
      turns.EndTurn(piece, made.ok());
    }
  });
  if (first_error.ok() && context.cancelled()) {
    return absl::CancelledError("the job is being ended");
  }
  return first_error;
}

absl::Status MakePieces(int num_pieces, StepContext& context,
                        const std::function<absl::Status(int piece, PieceTurn& turn)>& make,
                        int num_slots) {
  return MakePiecesUntil(
      context,
      [&](int piece, PieceTurn& turn) -> absl::StatusOr<bool> {
        if (piece >= num_pieces) return false;
        absl::Status made = make(piece, turn);
        if (!made.ok()) return made;
        return true;
      },
      num_slots);
}

}  // namespace weir
