#pragma once

// One section read by several slots at a time. Upstream: RunSource. Downstream: section_blocks.h, a
// reader for each slot.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"

namespace weir {

/// Deals the blocks of a section out to its readers in turns: the first block to the first reader,
/// the next one to the next, the parts of a long record to one of them. Who gets a block does not
/// depend on how fast readers are.
///
/// Thread-safety: each reader on a thread of its own; whichever comes first reads the source.
/// Errors: those of the source, which each reader meets behind its last block.
/// Bounds: kAheadBlocks blocks for each reader, and the one that it has.
/// Blocking: a reader waits for the source, and for one that has kAheadBlocks blocks to take or to
///   go, so all must be read at the same time.
/// Checked by: tests/unit/jobs/shared_section_test.cc.
class SharedSection {
 public:
  /// `source` outlives this.
  SharedSection(RunSource& source, int num_readers)
      : source_(source), shares_(static_cast<std::size_t>(num_readers)) {}

  /// The blocks of one reader, from 0. Once it has gone, nobody waits for it.
  class Reader : public RunSource {
   public:
    Reader(SharedSection& section, int index)
        : section_(section), index_(static_cast<std::size_t>(index)) {}
    ~Reader() override { section_.Leave(index_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    absl::StatusOr<absl::Span<const char>> NextBlock() override;
    absl::StatusOr<bool> TakeBlock(std::string& block) override {
      return section_.Take(index_, block);
    }

   private:
    SharedSection& section_;
    const std::size_t index_;
    std::string block_;  // that NextBlock gave last
  };

 private:
  // Reading on is some blocks ahead of who works on them, never the whole section.
  static constexpr std::size_t kAheadBlocks = 2;

  struct Share {
    std::deque<std::string> blocks;
    bool left = false;  // what is dealt to it goes nowhere
  };

  absl::StatusOr<bool> Take(std::size_t index, std::string& block);
  void Leave(std::size_t index);
  bool HasRoom(const Share& share) const {
    return share.left || share.blocks.size() < kAheadBlocks;
  }
  void Deal(std::string block);
  // Nothing more comes: all was read, or something went wrong.
  void End(const absl::Status& why);

  RunSource& source_;  // of whoever has set reading_
  std::mutex mutex_;   // guards all below
  std::condition_variable changed_;
  std::vector<Share> shares_;
  std::vector<std::string> spare_;  // memory of blocks that were read, used again
  std::size_t turn_ = 0;            // whose the next block is
  bool reading_ = false;
  bool ended_ = false;
  absl::Status error_;
};

}  // namespace weir
