#pragma once

// Sections of runs dealt out to the slots of a step. Upstream: the inputs of a step. Downstream:
// combine_layer.h, combine_one_input.h.

#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/engine/sections/shared_section.h"
#include "jobs/engine/slots/slot_work.h"

namespace weir {

/// How many slots can share a section, `most` at the most: one for each block. That does not depend
/// on how blocks are packed.
int ReadersOf(const RunSource& source, int most);

/// Which slot reads which of some sections: neighbouring ones, or, where there are fewer sections
/// than slots, neighbouring slots one section.
///
/// Thread-safety: Visit by each slot once, by all at the same time.
/// Checked by: tests/unit/jobs/shared_section_test.cc.
class SlotSections {
 public:
  using Sources = std::vector<std::unique_ptr<RunSource>>;

  /// At most `readers_max` slots share a section. `sources` outlive this.
  SlotSections(const Sources& sources, int num_slots,
               int readers_max = std::numeric_limits<int>::max());

  /// How many slots read the section of the slot.
  int num_readers(int slot) const { return shares_[static_cast<std::size_t>(slot)].num_readers; }
  /// The slot may have its part of the memory for one in so many: sections have equal parts of it,
  /// as have the readers of a section.
  int num_holders(int slot) const { return num_parts_ * num_readers(slot); }

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
    int num_readers = 1;
  };

  const Sources& sources_;
  std::deque<SharedSection> shared_;
  std::vector<Share> shares_;
  const int num_parts_;
};

}  // namespace weir
