#pragma once

// Sorts what the slots of a step hold together. Upstream: combine_layer.h, group_buffer.cc.
// Downstream: prefix_sort.h.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/prefix_sort.h"
#include "jobs/engine/table/slab_array.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {

/// Fewer entries are sorted by one slot sooner than all of them have begun.
inline constexpr std::size_t kSortOnSlotsMin = 16 << 10;

/// Places of fewer entries in the mean are sorted by comparing. Of some more that takes long, while
/// neighbouring places of so many together are distributed once more (prefix_sort.h), after which
/// hardly any is left to sort.
inline constexpr std::size_t kSortedInPlaceMax = 16;
inline constexpr std::size_t kSortedTogetherMin = 256;

/// Sorts the entries of `arrays` into the array at `sorted`; equal ones stay in the order given,
/// whatever the number of slots. `free()` is called once the arrays are read: they may go then.
/// `sort(entries, size, spare)` sorts some of them, as SortByPrefix does.
///
/// Model: each slot counts a share of the arrays by place, puts it behind what arrays before it
///   have of that place, and sorts some of the places, or neighbouring ones together where that is
///   sooner. No merging, and no second array: room for the most that are sorted together, on each
///   slot, is all that it takes.
/// Requires: arrays of about the same size; room for all entries at `sorted`.
/// Errors: kCancelled.
/// Checked by: tests/unit/jobs/group_buffer_test.cc, slots_agree_test.cc.
template <typename Entry, typename Free, typename Sort>
absl::Status SortOnSlots(absl::Span<const absl::Span<const Entry>> arrays,
                         const PrefixPlaces& places, Entry* sorted, SlabStore& slabs,
                         StepContext& context, Free&& free, Sort&& sort) {
  const int num_slots = context.slots().num_slots();
  // First how many entries of each place a slot has, then where its next one goes.
  std::vector<std::vector<std::size_t>> next(static_cast<std::size_t>(num_slots));
  const auto each_array = [&](int slot, const auto& visit) {
    const SlotShare share = ShareOf(slot, num_slots, static_cast<int>(arrays.size()));
    for (int i = share.begin; i < share.end; ++i) {
      visit(arrays[static_cast<std::size_t>(i)], next[static_cast<std::size_t>(slot)].data());
    }
    return absl::OkStatus();
  };
  absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>&) {
    next[static_cast<std::size_t>(slot)].resize(PrefixPlaces::kCount);
    return each_array(slot,
                      [&](auto entries, std::size_t* counts) { places.Count(entries, counts); });
  });
  if (!status.ok()) return status;
  std::size_t size = 0;
  for (const auto& entries : arrays) size += entries.size();
  const std::size_t together =
      size / PrefixPlaces::kCount < kSortedInPlaceMax ? 1 : kSortedTogetherMin;
  std::vector<std::size_t> ends;  // of what is sorted together
  std::size_t begin = 0;
  std::size_t sorted_begin = 0;
  std::size_t largest = 0;
  for (std::size_t place = 0; place < PrefixPlaces::kCount; ++place) {
    for (auto& of_slot : next) begin += std::exchange(of_slot[place], begin);
    if (begin == sorted_begin || (begin - sorted_begin < together && begin < size)) continue;
    ends.push_back(begin);
    largest = std::max(largest, begin - sorted_begin);
    sorted_begin = begin;
  }
  status = RunOnSlots(context, [&](int slot, const std::function<bool()>&) {
    return each_array(slot,
                      [&](auto entries, std::size_t* at) { places.Put(entries, at, sorted); });
  });
  if (!status.ok()) return status;
  free();
  std::atomic<std::size_t> next_end = 0;
  return RunOnSlots(context, [&](int, const std::function<bool()>& stop) {
    const SlabArray<Entry> spare(slabs, largest);
    for (std::size_t i; !stop() && (i = next_end++) < ends.size();) {
      const std::size_t from = i == 0 ? 0 : ends[i - 1];
      sort(sorted + from, ends[i] - from, spare.get());
    }
    return absl::OkStatus();
  });
}

}  // namespace weir
