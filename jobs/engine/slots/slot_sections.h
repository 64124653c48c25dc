#pragma once

// Sections of runs dealt out to the slots of a step. Upstream: the inputs of a step. Downstream:
// combine_layer.h, combine_one_input.h.

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/engine/sections/shared_section.h"
#include "jobs/engine/slots/slot_work.h"

namespace weir {

/// How many of `num_slots` slots a section is shared by: one for each block that it fills.
int ReadersOf(const RunSource& source, int num_slots);

/// Which slot reads which of some sections: neighbouring ones, or, where there are fewer sections
/// than slots, neighbouring slots one section.
///
/// Thread-safety: Visit by each slot, at the same time.
/// Checked by: tests/unit/jobs/shared_section_test.cc.
class SlotSections {
 public:
  using Sources = std::vector<std::unique_ptr<RunSource>>;

  /// `sources` outlive this.
  SlotSections(const Sources& sources, int num_slots);

  /// How many slots have something to read, at least 1.
  int num_busy() const { return num_busy_; }

  /// Calls read(source) for what the slot reads, in the order of the sections, until it returns an
  /// error.
  template <typename Read>
  absl::Status Visit(int slot, Read&& read) {
    const Share& share = shares_[static_cast<std::size_t>(slot)];
    if (share.shared != nullptr) {
      SharedSection::Reader reader(*share.shared, share.reader);
      return read(reader);
    }
    absl::Status status;
    for (int i = share.alone.begin; status.ok() && i < share.alone.end; ++i) {
      status = read(*sources_[static_cast<std::size_t>(i)]);
    }
    return status;
  }

 private:
  // Of a slot: whole sections, or a part of one.
  struct Share {
    SlotShare alone;
    SharedSection* shared = nullptr;
    int reader = 0;
  };

  const Sources& sources_;
  std::deque<SharedSection> shared_;
  std::vector<Share> shares_;
  int num_busy_ = 0;
};

}  // namespace weir
