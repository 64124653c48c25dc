#pragma once

// What a piece writes while it waits for its turn. Upstream: SectionWriter, PartText. Downstream:
// the one RunSink or PartSink of the step.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/engine/pieces/piece_order.h"
#include "jobs/engine/pieces/spare_texts.h"

namespace weir {

/// About as much as slots should make at a time: some blocks, so that few are not full, and little
/// beside a section, so that the slots end together.
inline constexpr std::int64_t kPieceBytes = 1 << 20;

/// The run of a step, as its pieces share it.
struct SharedRun {
  RunSink& sink;
  int section = -1;       // that was begun last
  SpareTexts spare = {};  // of what was handed on
};

/// The blocks of one piece of a run: packed at once, on the piece's slot, and handed on in its
/// turn.
///
/// Each piece begins with BeginSection, whether or not the piece before ended within that section.
/// Thread-safety: one thread at a time. Errors: those of the sink; kAborted when an earlier piece
///   failed, which nobody sees.
/// Bounds: as MakePieces, one block at a time.
class PieceRunSink : public RunSink {
 public:
  PieceRunSink(SharedRun& run, PieceTurn& turn) : run_(run), turn_(turn) {}

  absl::Status BeginSection(int consumer) override;
  absl::Status Append(std::string_view block, std::int64_t records) override {
    return AppendStandIn(block, records, 0);
  }
  absl::Status AppendStandIn(std::string_view block, std::int64_t records,
                             std::int64_t stands_for_bytes) override;
  /// Hands on what is held, or leaves it to be handed on in its turn. Nothing may be appended
  /// afterwards.
  absl::Status Finish();

 private:
  struct Held {
    int section;
    ReadyBlock block;
  };

  static absl::Status Enter(SharedRun& run, int section);
  static absl::Status HandOnAll(SharedRun& run, std::vector<Held>& blocks);
  absl::Status HandOnHeld();

  SharedRun& run_;
  PieceTurn& turn_;
  int section_ = -1;
  std::vector<Held> held_;
  std::int64_t held_bytes_ = 0;
};

/// The part of a step, as its pieces share it.
struct SharedPart {
  PartSink& sink;
  SpareTexts spare;
};

/// The text of one piece of a part, handed on in its turn in the very pieces in which it came.
///
/// Thread-safety, errors, bounds: as PieceRunSink.
class PiecePartSink : public PartSink {
 public:
  PiecePartSink(SharedPart& part, PieceTurn& turn) : part_(part), turn_(turn) {}

  absl::Status Append(std::string_view bytes, std::int64_t records) override;
  absl::Status AppendText(std::string& text, std::int64_t records) override;
  /// Hands on what is held, or leaves it to be handed on in its turn. Nothing may be appended
  /// afterwards.
  absl::Status Finish();

 private:
  struct Held {
    std::string text;
    std::int64_t records;
  };

  static absl::Status HandOnAll(SharedPart& part, std::vector<Held>& texts);
  absl::Status HandOnHeld();
  absl::Status Hold(std::string text, std::int64_t records);

  SharedPart& part_;
  PieceTurn& turn_;
  std::vector<Held> held_;
  std::int64_t held_bytes_ = 0;
};

}  // namespace weir
