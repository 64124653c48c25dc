#include "jobs/engine/merge/shared_groups.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/statusor.h"
#include "jobs/engine/references/referenced_sources.h"

namespace weir {
namespace {

// A reader that leaves, however its slot ends.
struct Reader {
  DealtInTurns<BoundedPieces::Piece>& pieces;
  const std::size_t index;
  ~Reader() { pieces.Leave(index); }
};

}  // namespace

SharedGroups::SharedGroups(const GroupPieces::Sources& sources, ReferencedFiles* files,
                           StepContext& context)
    : sources_(sources),
      files_(files),
      context_(context),
      most_bytes_(context.spill_above_bytes() > 0
                      ? std::min(kSharedGroupsBytes, context.spill_above_bytes() / 8)
                      : kSharedGroupsBytes) {
  const int num_slots = context.slots().num_slots();
  if (num_slots == 1) return;
  cut_.emplace(sources, most_bytes_, files, context);
  dealt_.emplace([this](BoundedPieces::Piece& piece,
                        bool&) -> absl::StatusOr<bool> { return cut_->Next(piece); },
                 num_slots);
}

absl::Status SharedGroups::ReadWhole(
    const GroupPieces::Sources& piece,
    const std::function<absl::Status(const GroupPieces::Sources& piece)>& read) {
  if (files_ == nullptr) return read(piece);
  const ReferencedSources whole(piece, *files_, context_);
  return read(whole.sources());
}

absl::Status SharedGroups::Visit(
    int slot, const std::function<bool()>& stop,
    const std::function<absl::Status(const GroupPieces::Sources& piece)>& read) {
  if (!dealt_) return ReadWhole(sources_, read);
  const Reader reader{*dealt_, static_cast<std::size_t>(slot)};
  while (!stop()) {
    BoundedPieces::Piece piece;  // a new one: what was read gives its room back first
    const absl::StatusOr<bool> more = dealt_->Take(reader.index, piece);
    if (!more.ok()) return more.status();
    if (!*more) break;
    if (absl::Status status = ReadWhole(piece.sources(), read); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace weir
