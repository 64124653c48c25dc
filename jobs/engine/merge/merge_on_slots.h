#pragma once

// Merges sorted sections on all slots of a step. Upstream: layers of the engine. Downstream:
// group_pieces.h, a piece for each slot at a time.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/engine/merge/group_pieces.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/references/referenced_files.h"

namespace weir {

/// What pieces of sections take together, with what is held to cut them: a quarter of the memory of
/// the step, or this where nobody says how much that is.
inline constexpr std::int64_t kGroupPiecesBytes = 256 << 20;

/// Merges the sections on all slots: calls reduce(piece, turn) for the sources of each piece, and
/// hands on in order (MakePieces). `files`: of the records that blocks of the sources refer to,
/// which pieces hold whole; null: such blocks are damage.
///
/// Errors: as MakePieces.
/// Bounds: `most_bytes` and one block, whatever the number of slots: while pieces that are reduced
///   take half of that, no further one is cut.
/// Checked by: tests/unit/jobs/group_pieces_test.cc, piece_memory_test.cc.
absl::Status MergeOnSlots(
    const GroupPieces::Sources& sources, std::int64_t most_bytes, StepContext& context,
    const std::function<absl::Status(const GroupPieces::Sources& piece, PieceTurn& turn)>& reduce,
    ReferencedFiles* files = nullptr);

/// The same for a step that holds nothing beside: with a quarter of its memory, or
/// kGroupPiecesBytes.
absl::Status MergeOnSlots(
    const GroupPieces::Sources& sources, StepContext& context,
    const std::function<absl::Status(const GroupPieces::Sources& piece, PieceTurn& turn)>& reduce,
    ReferencedFiles* files = nullptr);

/// Sorted sections of files that a step has on disk, several for each consumer.
struct SectionsOnDisk {
  int num_consumers = 0;
  std::size_t num_files = 0;  // with a section for a consumer
  std::function<absl::StatusOr<GroupPieces::Sources>(int consumer)> open;
  /// Writes what sources hold as one sorted section and returns its records.
  std::function<absl::StatusOr<std::int64_t>(int consumer, const GroupPieces::Sources& sources,
                                             RunSink& sink)>
      merge;
};

/// Writes a section for each consumer, on all slots: consumers side by side, or, where that leaves
/// half of the slots that have room idle, one after the other in pieces of the keys. Returns the
/// records.
///
/// Errors: those of the files and of the sink; kCancelled.
/// Bounds: as MergingSlots; pieces an eighth of what the step may hold before it puts something on
///   disk, and what MakePieces says.
/// Checked by: tests/unit/jobs/spill_test.cc.
absl::StatusOr<std::int64_t> MergeSectionsOnSlots(const SectionsOnDisk& sections, RunSink& sink,
                                                  StepContext& context);

}  // namespace weir
