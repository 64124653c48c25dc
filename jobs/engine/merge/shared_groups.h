#pragma once

// Sorted sections whose groups slots share. Upstream: sections of producers, files that a step has
// on disk. Downstream: merged_sections.h, one for each piece, for the layer behind.

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/engine/merge/bounded_pieces.h"
#include "jobs/engine/merge/group_pieces.h"
#include "jobs/engine/references/referenced_files.h"
#include "jobs/engine/sections/dealt_in_turns.h"

namespace weir {

/// What shared pieces take at most.
inline constexpr std::int64_t kSharedGroupsBytes = 128 << 20;

/// Cuts sections into pieces of whole groups and deals these out to slots in turns. Which slot gets
/// a group depends on the sections and the number of slots only. One slot has all, uncut.
///
/// Thread-safety: Visit by each slot once, by all at the same time: they wait for one another.
/// Errors: those of the sources are met by who reads the piece.
/// Bounds: memory_bytes().
/// Checked by: tests/unit/jobs/shared_groups_test.cc.
class SharedGroups {
 public:
  /// `files`: of the records that blocks of the sources refer to, which pieces hold whole; null:
  /// such blocks are damage. All outlive this.
  SharedGroups(const GroupPieces::Sources& sources, ReferencedFiles* files, StepContext& context);

  /// What pieces may take: an eighth of what the step may hold before it puts something on disk,
  /// kSharedGroupsBytes at most.
  std::int64_t memory_bytes() const { return cut_ ? most_bytes_ : 0; }

  /// Calls read(sources) for the pieces of the slot until it returns an error or stop() is true.
  absl::Status Visit(int slot, const std::function<bool()>& stop,
                     const std::function<absl::Status(const GroupPieces::Sources& piece)>& read);

 private:
  absl::Status ReadWhole(
      const GroupPieces::Sources& piece,
      const std::function<absl::Status(const GroupPieces::Sources& piece)>& read);

  const GroupPieces::Sources& sources_;
  ReferencedFiles* const files_;
  StepContext& context_;
  const std::int64_t most_bytes_;
  std::optional<BoundedPieces> cut_;  // for several slots
  std::optional<DealtInTurns<BoundedPieces::Piece>> dealt_;
};

}  // namespace weir
