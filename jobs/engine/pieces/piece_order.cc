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

absl::Status MakePieces(int num_pieces, StepContext& context,
                        const std::function<absl::Status(int piece, PieceTurn& turn)>& make) {
  PieceTurns turns;
  std::atomic<int> next = 0;
  absl::Status first_error;  // of who failed in its turn: one at most
  context.slots().RunOnAll([&](int) {
    while (!turns.failed()) {
      const int piece = next.fetch_add(1);
      if (piece >= num_pieces) return;
      PieceTurn turn(turns, piece);
      absl::Status status;
      try {
        status = context.cancelled() ? absl::CancelledError("the job is being ended")
                                     : make(piece, turn);
      } catch (...) {
        if (!turn.Await()) return;
        turns.EndTurn(piece, false);
        throw;
      }
      if (!turn.Await()) return;
      if (!status.ok()) first_error = status;
      turns.EndTurn(piece, status.ok());
    }
  });
  return first_error;
}

}  // namespace weir
