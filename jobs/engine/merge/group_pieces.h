#pragma once

// Cuts the sorted sections of many producers at common keys, so that slots merge and reduce pieces
// of them at once. Upstream: sections written by group_buffer.h. Downstream: merged_sections.h, one
// for each piece.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/engine/merge/piece_cuts.h"
#include "jobs/engine/pieces/spare_texts.h"
#include "jobs/engine/references/record_finder.h"
#include "jobs/engine/references/referenced_files.h"

namespace weir {

/// What of the sections is held to find keys at which all of them can be cut.
inline constexpr std::int64_t kHeldGroupBytes = 1 << 20;

/// Sections as pieces, the groups of each before those of the next. What is held of many sections,
/// or to the end of all, is more than one piece where it is some of them. Where cuts cannot be
/// known within the bounds (a group larger than what is held, more sections than it has room for,
/// one that is damaged or cannot be read) everything that is left is the last piece, whose reader
/// meets what is wrong with it.
///
/// Thread-safety: one thread at a time; pieces are their takers' own. Requires: sources that
///   outlive the pieces.
/// Bounds: `held_bytes`, or two blocks of each producer where that is more; where a key or a record
///   fills that, four times as much; never more than `held_bytes_max` and one block. As much for
///   each piece at most; the last one reads on by itself. This is of what blocks hold; their room
///   is up to twice as much, and is used again by later pieces.
/// Checked by: tests/unit/jobs/group_pieces_test.cc.
class GroupPieces {
 public:
  using Sources = std::vector<std::unique_ptr<RunSource>>;

  /// `files`: where records are that blocks refer to; null: such blocks are damage.
  GroupPieces(const Sources& sources, std::int64_t held_bytes, std::int64_t held_bytes_max,
              ReferencedFiles* files, StepContext& context);

  /// Gives the next piece: a source for each producer that has something in it, in their order.
  /// False when all were given.
  bool Next(Sources& piece);
  /// What the piece that was given last holds.
  std::int64_t piece_bytes() const { return static_cast<std::int64_t>(piece_bytes_); }

 private:
  class HeldBlocks;
  // A block, behind what was cut off.
  struct Text {
    std::string bytes;
    std::size_t begin = 0;

    std::string_view view() const { return std::string_view(bytes).substr(begin); }
  };
  struct Block {
    Text text;
    std::size_t whole_bytes = 0;  // of the block that it is or stands for
  };

  // A block of whole records, or the parts of one long record.
  struct Unit {
    std::vector<Block> blocks;
    std::string last_key;
  };

  struct Producer {
    RunSource* source = nullptr;
    std::deque<Unit> held;
    std::size_t held_bytes = 0;
    bool ended = false;
    absl::Status error;
  };

  // False when the rest cannot be cut.
  bool Hold(Producer& producer);
  bool HoldUnit(Producer& producer);
  // Finds the last key of a block of whole records, or of references to them, and how many bytes
  // that is; false where it is neither.
  bool Look(Block& block, std::string& last_key);
  // Holds what the next pieces are cut from and finds where. False when the rest cannot be cut.
  bool FindCuts();
  // Marks keys that are held, about as far from each other all over the sections, before `least`
  // where there is one. Keys that have to be read somewhere else are in `found`.
  std::vector<KeyMark> MarkKeys(const std::string* least, std::deque<std::string>& found);
  // Marks keys of a block from the byte `at` on, `step` apart. False once one is not before
  // `least`.
  static bool MarkRecords(const Block& block, std::size_t at, std::size_t step,
                          const std::string* least, std::vector<KeyMark>& marks);
  bool MarkReferences(const Block& block, std::size_t at, std::size_t step,
                      const std::string* least, std::deque<std::string>& found,
                      std::vector<KeyMark>& marks);
  absl::StatusOr<bool> TakeBlock(RunSource& source, std::string& block);
  // Gives what has more than twice the room that it needs another one.
  void Fit(Text& text);
  // Takes what comes before a key. Errors: those of finding where that is.
  absl::Status TakeBefore(Producer& producer, std::string_view end, std::vector<Text>& taken);
  // Parts a block; what comes before `end` becomes `first`. False where nothing does.
  absl::StatusOr<bool> Cut(Block& block, std::string_view end, Block& first);
  absl::StatusOr<bool> CutReferences(Block& block, std::string_view end, Block& first);
  bool CutRecords(Block& block, std::string_view end, Block& first);
  void Take(Producer& producer, Block block, std::vector<Text>& taken);
  void TakePiece(std::string_view end, Sources& piece);
  void TakeRest(Sources& piece);

  const std::shared_ptr<SpareTexts> spare_ = std::make_shared<SpareTexts>();
  const std::size_t share_;  // of held_bytes, of each producer
  const std::size_t held_bytes_max_;
  std::optional<RecordFinder> finder_;  // none where blocks must not refer to anything
  std::size_t held_bytes_ = 0;          // of all producers
  std::size_t piece_bytes_ = 0;         // of the piece that was given last
  std::vector<Producer> producers_;
  std::deque<std::string> cuts_;  // of what is held
  bool all_held_ = false;         // nothing comes behind the last cut
  bool any_taken_ = true;         // by one of the last cuts
  bool all_given_ = false;
};

}  // namespace weir
