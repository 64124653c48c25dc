#include "jobs/engine/merge/merge_on_slots.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "absl/status/statusor.h"
#include "jobs/engine/merge/bounded_pieces.h"
#include "jobs/engine/pieces/piece_sinks.h"
#include "jobs/engine/references/referenced_sources.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/spill/slot_spills.h"

namespace weir {

absl::Status MergeOnSlots(
    const GroupPieces::Sources& sources, StepContext& context,
    const std::function<absl::Status(const GroupPieces::Sources& piece, PieceTurn& turn)>& reduce,
    ReferencedFiles* files) {
  const std::int64_t most_bytes =
      context.memory_bytes() > 0 ? context.memory_bytes() / 4 : kGroupPiecesBytes;
  return MergeOnSlots(sources, most_bytes, context, reduce, files);
}

absl::Status MergeOnSlots(
    const GroupPieces::Sources& sources, std::int64_t most_bytes, StepContext& context,
    const std::function<absl::Status(const GroupPieces::Sources& piece, PieceTurn& turn)>& reduce,
    ReferencedFiles* files) {
  BoundedPieces pieces(sources, most_bytes, files, context);
  PieceTurns cuts;
  return MakePiecesUntil(context, [&](int piece, PieceTurn& turn) -> absl::StatusOr<bool> {
    if (!cuts.Await(piece)) return false;
    BoundedPieces::Piece cut;
    bool more = false;
    try {
      more = pieces.Next(cut);
    } catch (...) {
      cuts.EndTurn(piece, absl::AbortedError("cannot cut"));
      throw;
    }
    cuts.EndTurn(piece, more ? absl::OkStatus() : absl::AbortedError("all pieces were given"));
    if (!more) return false;
    std::optional<ReferencedSources> whole;
    if (files != nullptr) whole.emplace(cut.sources(), *files, context);
    absl::Status reduced = reduce(whole ? whole->sources() : cut.sources(), turn);
    if (!reduced.ok()) return reduced;
    return true;
  });
}

namespace {

// Pieces are cut by one slot after the other, and only where two blocks of each file have room.
bool IsBetterInPieces(const SectionsOnDisk& sections, std::int64_t most_bytes,
                      StepContext& context) {
  const auto held = static_cast<std::int64_t>(2 * kBlockFillBytes * sections.num_files);
  return 2 * sections.num_consumers <= context.slots().num_slots() && held <= most_bytes / 2;
}

}  // namespace

absl::StatusOr<std::int64_t> MergeSectionsOnSlots(const SectionsOnDisk& sections, RunSink& sink,
                                                  StepContext& context) {
  SharedRun run{sink};
  std::atomic<std::int64_t> records = 0;
  const auto write = [&](int consumer, const GroupPieces::Sources& sources,
                         PieceTurn& turn) -> absl::Status {
    PieceRunSink piece_sink(run, turn);
    const absl::StatusOr<std::int64_t> written = sections.merge(consumer, sources, piece_sink);
    if (!written.ok()) return written.status();
    records += *written;
    return piece_sink.Finish();
  };
  absl::Status status;
  const std::int64_t most_bytes = context.spill_above_bytes() > 0
                                      ? std::min(kGroupPiecesBytes, context.spill_above_bytes() / 8)
                                      : kGroupPiecesBytes;
  if (!IsBetterInPieces(sections, most_bytes, context)) {
    status = MakePieces(
        sections.num_consumers, context,
        [&](int consumer, PieceTurn& turn) {
          const absl::StatusOr<GroupPieces::Sources> sources = sections.open(consumer);
          return sources.ok() ? write(consumer, *sources, turn) : sources.status();
        },
        MergingSlots(sections.num_files, context));
  } else {
    for (int consumer = 0; status.ok() && consumer < sections.num_consumers; ++consumer) {
      const absl::StatusOr<GroupPieces::Sources> sources = sections.open(consumer);
      if (!sources.ok()) return sources.status();
      status = MergeOnSlots(*sources, most_bytes, context,
                            [&](const GroupPieces::Sources& piece, PieceTurn& turn) {
                              return write(consumer, piece, turn);
                            });
    }
  }
  if (!status.ok()) return status;
  return records.load();
}

}  // namespace weir
