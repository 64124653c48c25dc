#include "jobs/engine/pieces/piece_order.h"

#include <atomic>
#include <utility>

namespace weir {

bool PieceTurns::Await(int piece) {
  std::unique_lock lock(mutex_);
  next_.wait(lock, [this, piece] { return !error_.ok() || now_ == piece; });
  return error_.ok();
}

bool PieceTurns::IsNow(int piece) {
  const std::lock_guard lock(mutex_);
  return error_.ok() && now_ == piece;
}

bool PieceTurns::Leave(int piece, std::vector<LeftByPiece>& left) {
  const std::lock_guard lock(mutex_);
  if (error_.ok() && now_ == piece) return false;
  // Behind an error nobody looks at it.
  left_.emplace(piece, std::move(left));
  return true;
}

void PieceTurns::EndTurn(int piece, absl::Status status) {
  std::unique_lock lock(mutex_);
  while (true) {
    now_ = ++piece;
    if (!status.ok()) error_ = std::move(status);
    const auto left = error_.ok() ? left_.find(piece) : left_.end();
    if (left == left_.end()) break;
    // Its turn is now, and nobody else has it.
    std::vector<LeftByPiece> of_piece = std::move(left->second);
    left_.erase(left);
    lock.unlock();
    status = HandOn(std::move(of_piece));
    lock.lock();
  }
  next_.notify_all();
}

absl::Status PieceTurns::error() {
  const std::lock_guard lock(mutex_);
  return error_;
}

bool PieceTurns::Hold(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  held_bytes_ += bytes;
  return held_bytes_ < held_bytes_max_;
}

absl::Status PieceTurns::HandOn(std::vector<LeftByPiece> left) {
  for (LeftByPiece& one : left) {
    absl::Status status;
    try {
      status = one.hand_on();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      thrown_ = std::current_exception();
      status = absl::AbortedError("handing on has thrown");
    }
    if (!status.ok()) return status;
    one.hand_on = nullptr;  // what it held goes with it
    Hold(-one.bytes);
  }
  return absl::OkStatus();
}

void PieceTurn::End(absl::Status made) {
  if (made.ok() && !mine_ && turns_.Leave(piece_, left_)) return;
  if (!Await()) return;
  if (made.ok()) made = turns_.HandOn(std::move(left_));
  turns_.EndTurn(piece_, std::move(made));
}

absl::Status MakePiecesUntil(
    StepContext& context,
    const std::function<absl::StatusOr<bool>(int piece, PieceTurn& turn)>& make, int num_slots) {
  PieceTurns turns(context.slots().num_slots() * kHeldPieceBytes);
  std::atomic<int> next = 0;
  std::atomic<bool> all_made = false;
  context.slots().RunOnAll([&](int slot) {
    if (slot >= num_slots) return;
    // Who took a piece makes it, whatever happens: others may wait for what it shares.
    while (!all_made && !turns.failed() && !context.cancelled()) {
      PieceTurn turn(turns, next.fetch_add(1));
      absl::StatusOr<bool> made = false;
      try {
        made = make(turn.piece(), turn);
      } catch (...) {
        if (!turn.Await()) return;
        turns.EndTurn(turn.piece(), absl::AbortedError("user code has thrown"));
        throw;
      }
      if (made.ok() && !*made) {
        all_made = true;
        return;
      }
      turn.End(made.status());
    }
  });
  turns.Rethrow();
  if (absl::Status error = turns.error(); !error.ok()) return error;
  if (context.cancelled()) return absl::CancelledError("the job is being ended");
  return absl::OkStatus();
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
