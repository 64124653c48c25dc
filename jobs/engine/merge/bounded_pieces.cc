#include "jobs/engine/merge/bounded_pieces.h"

#include <algorithm>

namespace weir {

// Half for the pieces, half for what the next one is cut from.
BoundedPieces::BoundedPieces(const GroupPieces::Sources& sources, std::int64_t most_bytes,
                             ReferencedFiles* files, StepContext& context)
    : pieces_(sources, std::min(kHeldGroupBytes, most_bytes / 4), most_bytes / 2, files, context),
      under_way_max_(most_bytes / 2) {}

bool BoundedPieces::Next(Piece& piece) {
  {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return under_way_bytes_ <= under_way_max_; });
  }
  if (!pieces_.Next(piece.sources_)) return false;
  piece.of_ = this;
  piece.bytes_ = pieces_.piece_bytes();
  Add(piece.bytes_);
  return true;
}

void BoundedPieces::Add(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  under_way_bytes_ += bytes;
  room_.notify_all();
}

}  // namespace weir
