#pragma once

// Puts table entries into the order of their keys. Upstream: combine_layer.h. Downstream: output
// parts.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

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

/// Merges sorted lists and calls visit(const Entry&) in order until it returns an error.
template <typename Entry, typename Visit>
absl::Status VisitMerged(const std::vector<absl::Span<const SortedEntry<Entry>>>& lists,
                         Visit&& visit) {
  struct Head {
    const SortedEntry<Entry>* next;
    const SortedEntry<Entry>* end;
  };
  // Keys of different lists differ, so the order of equal heads does not matter.
  const auto later = [](const Head& a, const Head& b) { return *b.next < *a.next; };
  std::vector<Head> heads;
  for (const auto& list : lists) {
    if (!list.empty()) heads.push_back({list.data(), list.data() + list.size()});
  }
  std::make_heap(heads.begin(), heads.end(), later);
  while (heads.size() > 1) {
    std::pop_heap(heads.begin(), heads.end(), later);
    Head& first = heads.back();
    if (absl::Status status = visit(*first.next->entry); !status.ok()) return status;
    if (++first.next == first.end) {
      heads.pop_back();
    } else {
      std::push_heap(heads.begin(), heads.end(), later);
    }
  }
  for (Head& last : heads) {
    for (; last.next != last.end; ++last.next) {
      if (absl::Status status = visit(*last.next->entry); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
