#pragma once

// Pieces of sorted sections, no more of them at a time than there is memory for. Upstream:
// group_pieces.h. Downstream: merge_on_slots.h, shared_groups.h.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include "jobs/api/program.h"
#include "jobs/engine/merge/group_pieces.h"
#include "jobs/engine/references/referenced_files.h"

namespace weir {

/// GroupPieces of which some are under way.
///
/// Thread-safety: Next by one thread at a time; pieces may go on any.
/// Bounds: `most_bytes` and one block: while pieces take half of that, no further one is cut.
/// Blocking: Next waits for pieces that are under way. Who holds one must not wait for Next.
/// Checked by: tests/unit/jobs/piece_memory_test.cc.
class BoundedPieces {
 public:
  BoundedPieces(const GroupPieces::Sources& sources, std::int64_t most_bytes,
                ReferencedFiles* files, StepContext& context);

  /// A piece, or none. It takes room as long as it exists.
  class Piece {
   public:
    Piece() = default;
    Piece(Piece&& other) noexcept
        : sources_(std::move(other.sources_)),
          of_(std::exchange(other.of_, nullptr)),
          bytes_(other.bytes_) {}
    Piece& operator=(Piece&& other) noexcept {
      std::swap(sources_, other.sources_);
      std::swap(of_, other.of_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Piece() {
      sources_.clear();
      if (of_ != nullptr) of_->Add(-bytes_);
    }

    const GroupPieces::Sources& sources() const { return sources_; }

   private:
    friend class BoundedPieces;
    GroupPieces::Sources sources_;
    BoundedPieces* of_ = nullptr;
    std::int64_t bytes_ = 0;
  };

  /// Gives the next piece, which the pieces must not outlive; false when all were given. Requires:
  /// an empty one.
  bool Next(Piece& piece);

 private:
  void Add(std::int64_t bytes);

  GroupPieces pieces_;
  const std::int64_t under_way_max_;
  std::mutex mutex_;  // guards all below
  std::condition_variable room_;
  std::int64_t under_way_bytes_ = 0;
};

}  // namespace weir
