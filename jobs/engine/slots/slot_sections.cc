#include "jobs/engine/slots/slot_sections.h"

#include <algorithm>

namespace weir {

int ReadersOf(const RunSource& source, int most) { return std::max(1, source.CountBlocks(most)); }

SlotSections::SlotSections(const Sources& sources, int num_slots, int readers_max)
    : sources_(sources),
      shares_(static_cast<std::size_t>(num_slots)),
      num_parts_(std::clamp(static_cast<int>(sources.size()), 1, num_slots)) {
  const int num_sections = static_cast<int>(sources.size());
  if (num_sections >= num_slots) {
    for (int slot = 0; slot < num_slots; ++slot) {
      shares_[static_cast<std::size_t>(slot)].alone = ShareOf(slot, num_slots, num_sections);
    }
    return;
  }
  for (int i = 0; i < num_sections; ++i) {
    RunSource& source = *sources[static_cast<std::size_t>(i)];
    const SlotShare slots = ShareOf(i, num_sections, num_slots);
    const int readers = ReadersOf(source, std::min(readers_max, slots.end - slots.begin));
    SharedSection& shared = shared_.emplace_back(source, readers);
    for (int reader = 0; reader < readers; ++reader) {
      shares_[static_cast<std::size_t>(slots.begin + reader)] = {{}, &shared, reader, readers};
    }
  }
}

}  // namespace weir
