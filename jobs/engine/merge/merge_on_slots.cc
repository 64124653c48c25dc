#include "jobs/engine/merge/merge_on_slots.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "absl/status/statusor.h"
#include "jobs/engine/references/referenced_sources.h"

namespace weir {
namespace {

// Bytes of the pieces that are being reduced.
class PiecesUnderWay {
 public:
  explicit PiecesUnderWay(std::int64_t most_bytes) : most_bytes_(most_bytes) {}

  // Waits until there is room for one more.
  void AwaitRoom() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return bytes_ <= most_bytes_; });
  }

  // A piece, for as long as it exists.
  class Piece {
   public:
    explicit Piece(PiecesUnderWay& pieces) : pieces_(pieces) {}
    ~Piece() { pieces_.Add(-bytes_); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

    void Begin(std::int64_t bytes) { pieces_.Add(bytes_ = bytes); }

   private:
    PiecesUnderWay& pieces_;
    std::int64_t bytes_ = 0;
  };

 private:
  void Add(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    room_.notify_all();
  }

  const std::int64_t most_bytes_;
  std::mutex mutex_;  // guards all below
  std::condition_variable room_;
  std::int64_t bytes_ = 0;
};

}  // namespace

absl::Status MergeOnSlots(
    const GroupPieces::Sources& sources, StepContext& context,
    const std::function<absl::Status(const GroupPieces::Sources& piece, PieceTurn& turn)>& reduce,
    ReferencedFiles* files) {
  const std::int64_t most_bytes =
      context.memory_bytes() > 0 ? context.memory_bytes() / 4 : kGroupPiecesBytes;
  // Half for the pieces, half for what the next one is cut from.
  GroupPieces pieces(sources, std::min(kHeldGroupBytes, most_bytes / 4), most_bytes / 2, files,
                     context);
  PiecesUnderWay under_way(most_bytes / 2);
  PieceTurns cuts;
  return MakePiecesUntil(context, [&](int piece, PieceTurn& turn) -> absl::StatusOr<bool> {
    PiecesUnderWay::Piece mine(under_way);
    GroupPieces::Sources cut;
    if (!cuts.Await(piece)) return false;
    bool more = false;
    try {
      under_way.AwaitRoom();
      more = pieces.Next(cut);
    } catch (...) {
      cuts.EndTurn(piece, absl::AbortedError("cannot cut"));
      throw;
    }
    if (more) mine.Begin(pieces.piece_bytes());
    cuts.EndTurn(piece, more ? absl::OkStatus() : absl::AbortedError("all pieces were given"));
    if (!more) return false;
    std::optional<ReferencedSources> whole;
    if (files != nullptr) whole.emplace(cut, *files, context);
    absl::Status reduced = reduce(whole ? whole->sources() : cut, turn);
    if (!reduced.ok()) return reduced;
    return true;
  });
}

}  // namespace weir
