#pragma once

// Puts table entries into the order of their keys. Upstream: combine_layer.h. Downstream: output
// parts.

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jobs/engine/table/prefix_sort.h"

namespace weir {

/// An entry with the beginning of its key as a number, so that most comparisons touch no entry.
template <typename Entry>
struct SortedEntry {
  std::uint64_t prefix;
  const Entry* entry;

  static SortedEntry Of(const Entry& entry) {
    // word0 holds the first bytes of every key, zero-padded when the key is shorter.
    return {__builtin_bswap64(entry.word0), &entry};
  }
  bool operator<(const SortedEntry& other) const {
    if (prefix != other.prefix) return prefix < other.prefix;
    return entry->key() < other.entry->key();
  }
};

/// Sorts entries of different keys. Uses room for as many at `spare`.
template <typename Entry>
void SortEntries(SortedEntry<Entry>* entries, std::size_t size, SortedEntry<Entry>* spare) {
  SortByPrefix(
      entries, size, spare, [](const SortedEntry<Entry>& e) { return e.entry->key(); },
      [](const SortedEntry<Entry>& a, const SortedEntry<Entry>& b) {
        return a.entry->key() < b.entry->key();
      });
}

/// Asks for the memory that the next entries of a sorted list lie in: first for the entry, then for
/// its key, if that lies elsewhere.
template <typename Entry>
void PrefetchBehind(const SortedEntry<Entry>* next, const SortedEntry<Entry>* end) {
  constexpr std::ptrdiff_t kAheadEntries = 24;
  constexpr std::ptrdiff_t kAheadKeys = 12;
  if (end - next <= kAheadEntries) return;
  __builtin_prefetch(next[kAheadEntries].entry);
  __builtin_prefetch(next[kAheadKeys].entry->key().data());
}

/// Calls visit(const Entry&) for sorted entries in their order until it returns an error.
template <typename Entry, typename Visit>
absl::Status VisitSorted(absl::Span<const SortedEntry<Entry>> entries, Visit&& visit) {
  const SortedEntry<Entry>* const end = entries.data() + entries.size();
  for (const SortedEntry<Entry>* next = entries.data(); next != end; ++next) {
    PrefetchBehind(next, end);
    if (absl::Status status = visit(*next->entry); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace weir
