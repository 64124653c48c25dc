#pragma once

// One section read by several slots at a time. Upstream: RunSource. Downstream: section_blocks.h, a
// reader for each slot.

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"
#include "jobs/engine/sections/dealt_in_turns.h"

namespace weir {

/// Deals the blocks of a section out to its readers in turns, the parts of a long record to one of
/// them.
///
/// Thread-safety, errors, bounds, blocking: as DealtInTurns.
/// Checked by: tests/unit/jobs/shared_section_test.cc.
class SharedSection {
 public:
  /// `source` outlives this.
  SharedSection(RunSource& source, int num_readers);

  /// The blocks of one reader, from 0. Once it has gone, nobody waits for it.
  class Reader : public RunSource {
   public:
    Reader(SharedSection& section, int index)
        : blocks_(section.blocks_), index_(static_cast<std::size_t>(index)) {}
    ~Reader() override { blocks_.Leave(index_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    absl::StatusOr<absl::Span<const char>> NextBlock() override;
    absl::StatusOr<bool> TakeBlock(std::string& block) override {
      return blocks_.Take(index_, block);
    }

   private:
    DealtInTurns<std::string>& blocks_;
    const std::size_t index_;
    std::string block_;  // that NextBlock gave last
  };

 private:
  DealtInTurns<std::string> blocks_;
};

}  // namespace weir
