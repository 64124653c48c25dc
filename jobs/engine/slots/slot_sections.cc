#include "jobs/engine/slots/slot_sections.h"

#include <algorithm>
#include <cstdint>

#include "jobs/engine/sections/section_blocks.h"

namespace weir {

int ReadersOf(const RunSource& source, int num_slots) {
  const std::int64_t blocks = source.stored_bytes() / static_cast<std::int64_t>(kBlockFillBytes);
  return static_cast<int>(std::clamp<std::int64_t>(blocks, 1, num_slots));
}

SlotSections::SlotSections(const Sources& sources, int num_slots)
    : sources_(sources), shares_(static_cast<std::size_t>(num_slots)) {
  const int num_sections = static_cast<int>(sources.size());
  if (num_sections >= num_slots) {
    for (int slot = 0; slot < num_slots; ++slot) {
      shares_[static_cast<std::size_t>(slot)].alone = ShareOf(slot, num_slots, num_sections);
    }
    num_busy_ = num_slots;
    return;
  }
  for (int i = 0; i < num_sections; ++i) {
    RunSource& source = *sources[static_cast<std::size_t>(i)];
    const SlotShare slots = ShareOf(i, num_sections, num_slots);
    const int readers = ReadersOf(source, slots.end - slots.begin);
    SharedSection& shared = shared_.emplace_back(source, readers);
    for (int reader = 0; reader < readers; ++reader) {
      shares_[static_cast<std::size_t>(slots.begin + reader)] = {{}, &shared, reader};
    }
    num_busy_ += readers;
  }
  num_busy_ = std::max(num_busy_, 1);
}

}  // namespace weir
