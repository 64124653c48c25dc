#pragma once

// The entries of a table in the order of their keys. Upstream: combine_layer.h. Downstream: output
// parts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jobs/api/program.h"
#include "jobs/engine/slots/slot_sort.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/engine/table/combine_table.h"
#include "jobs/engine/table/prefix_sort.h"
#include "jobs/engine/table/slab_array.h"
#include "jobs/engine/table/slab_store.h"
#include "jobs/engine/table/sorted_entries.h"

namespace weir {

namespace combine_sort_internal {

// Entries of neighbouring sub-tables, as a slot found them.
template <typename Entry>
struct FoundEntries {
  SlabArray<SortedEntry<Entry>> entries;
  std::size_t size = 0;
  std::uint64_t low = ~std::uint64_t{0};  // of the prefixes
  std::uint64_t high = 0;
};

template <typename Value>
FoundEntries<typename CombineTable<Value>::Entry> FindEntries(const CombineTable<Value>& table,
                                                              SlotShare subs, SlabStore& slabs) {
  using Entry = typename CombineTable<Value>::Entry;
  FoundEntries<Entry> found;
  std::size_t size = 0;
  for (int sub = subs.begin; sub < subs.end; ++sub) {
    size += static_cast<std::size_t>(table.size(sub));
  }
  found.entries = SlabArray<SortedEntry<Entry>>(slabs, size);
  for (int sub = subs.begin; sub < subs.end; ++sub) {
    table.ForEach(sub, [&found](const Entry& entry) {
      const auto one = SortedEntry<Entry>::Of(entry);
      found.low = std::min(found.low, one.prefix);
      found.high = std::max(found.high, one.prefix);
      found.entries[found.size++] = one;
    });
  }
  return found;
}

}  // namespace combine_sort_internal

/// Puts all entries of a table that is split into `sorted`, on all slots where they are many.
/// Errors: kCancelled.
template <typename Value>
absl::Status SortTable(const CombineTable<Value>& table, SlabStore& slabs, StepContext& context,
                       SlabArray<SortedEntry<typename CombineTable<Value>::Entry>>& sorted) {
  using Table = CombineTable<Value>;
  using Entry = typename Table::Entry;
  using Sorted = SortedEntry<Entry>;
  using combine_sort_internal::FindEntries;
  using Found = combine_sort_internal::FoundEntries<Entry>;
  const auto sort = [](Sorted* entries, std::size_t size, Sorted* spare) {
    SortEntries(entries, size, spare);
  };
  const auto size = static_cast<std::size_t>(table.size());
  if (size < kSortOnSlotsMin) {
    sorted = FindEntries(table, {0, Table::kSubTables}, slabs).entries;
    const SlabArray<Sorted> spare(slabs, size);
    sort(sorted.get(), size, spare.get());
    return absl::OkStatus();
  }
  const int num_slots = context.slots().num_slots();
  std::vector<Found> found(static_cast<std::size_t>(num_slots));
  absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>&) {
    found[static_cast<std::size_t>(slot)] =
        FindEntries(table, ShareOf(slot, num_slots, Table::kSubTables), slabs);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  std::vector<absl::Span<const Sorted>> arrays;
  std::uint64_t low = ~std::uint64_t{0};
  std::uint64_t high = 0;
  for (const Found& of_slot : found) {
    arrays.emplace_back(of_slot.entries.get(), of_slot.size);
    low = std::min(low, of_slot.low);
    high = std::max(high, of_slot.high);
  }
  sorted = SlabArray<Sorted>(slabs, size);
  return SortOnSlots<Sorted>(
      arrays, PrefixPlaces(low, high), sorted.get(), slabs, context, [&found] { found.clear(); },
      sort);
}

}  // namespace weir
