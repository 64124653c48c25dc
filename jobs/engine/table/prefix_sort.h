#pragma once

// Sorts entries that hold the beginning of their key as a number. Upstream: group_buffer.cc,
// sorted_entries.h.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/types/span.h"
#include "jobs/api/key_prefix.h"

namespace weir {

namespace prefix_sort_internal {

// Few enough places that their ends stay in the first-level cache.
inline constexpr int kPlaceBits = 8;
inline constexpr std::size_t kPlaces = std::size_t{1} << kPlaceBits;
// Below this many pairs comparing is cheaper than distributing.
inline constexpr std::size_t kDistributeMin = 32;

// How far ahead keys are asked for that lie apart from their entries.
inline constexpr std::size_t kAheadKeys = 8;

// Keys that are alike up to here are compared: each eight bytes of depth cost stack.
inline constexpr std::size_t kDepthMax = 64;

template <typename Entry, typename KeyOf, typename Before>
void SortFrom(Entry* entries, std::size_t size, Entry* spare, std::size_t depth, KeyOf key_of,
              Before before);

// Sorts entries whose prefixes are equal too.
template <typename Entry, typename KeyOf, typename Before>
void SortAlike(Entry* entries, std::size_t size, Entry* spare, std::size_t depth, KeyOf key_of,
               Before before) {
  // Most often their keys are equal: then nothing is to be done.
  if (std::is_sorted(entries, entries + size, before)) return;
  const std::uint64_t prefix = entries->prefix;
  const std::size_t next = depth + sizeof prefix;
  const bool longer = next < kDepthMax && std::any_of(entries, entries + size, [&](const Entry& e) {
                        return key_of(e).size() > next;
                      });
  if (!longer) return std::stable_sort(entries, entries + size, before);
  for (std::size_t i = 0; i < size; ++i) {
    if (size - i > kAheadKeys) __builtin_prefetch(key_of(entries[i + kAheadKeys]).data());
    const std::string_view key = key_of(entries[i]);
    entries[i].prefix = KeyPrefix(key.substr(std::min(next, key.size())));
  }
  SortFrom(entries, size, spare, next, key_of, before);
  for (std::size_t i = 0; i < size; ++i) entries[i].prefix = prefix;
}

// Sorts entries[0, size), whose keys are alike up to byte `depth`, where the prefixes begin; equal
// ones keep their order. `before` compares those of equal prefixes. Uses room for as many at
// `spare`.
template <typename Entry, typename KeyOf, typename Before>
void SortFrom(Entry* entries, std::size_t size, Entry* spare, std::size_t depth, KeyOf key_of,
              Before before) {
  if (size < kDistributeMin) {
    const auto comes_before = [&before](const Entry& a, const Entry& b) {
      return a.prefix != b.prefix ? a.prefix < b.prefix : before(a, b);
    };
    for (std::size_t i = 1; i < size; ++i) {
      const Entry entry = entries[i];
      std::size_t place = i;
      for (; place > 0 && comes_before(entry, entries[place - 1]); --place) {
        entries[place] = entries[place - 1];
      }
      entries[place] = entry;
    }
    return;
  }
  const auto [low, high] = std::minmax_element(
      entries, entries + size, [](const Entry& a, const Entry& b) { return a.prefix < b.prefix; });
  if (low->prefix == high->prefix) return SortAlike(entries, size, spare, depth, key_of, before);
  // By the leading bits in which prefixes differ, then each place by itself: comparing costs a
  // mispredicted branch each time, distributing none.
  const std::uint64_t first = low->prefix;
  const int shift =
      std::max(0, static_cast<int>(std::bit_width(high->prefix - first)) - kPlaceBits);
  const auto place_of = [first, shift](const Entry& entry) {
    return static_cast<std::size_t>((entry.prefix - first) >> shift);
  };
  std::array<std::size_t, kPlaces> ends{};
  for (std::size_t i = 0; i < size; ++i) ++ends[place_of(entries[i])];
  std::size_t begin = 0;
  for (std::size_t& end : ends) begin += std::exchange(end, begin);
  for (std::size_t i = 0; i < size; ++i) spare[ends[place_of(entries[i])]++] = entries[i];
  std::copy_n(spare, size, entries);
  begin = 0;
  for (const std::size_t end : ends) {
    if (end - begin > 1) SortFrom(entries + begin, end - begin, spare, depth, key_of, before);
    begin = end;
  }
}

}  // namespace prefix_sort_internal

/// The first step of a sort that several threads share: entries that lie in several arrays go into
/// one, by the leading bits in which their prefixes differ. All of one place come before those of
/// the next, and are to be sorted by themselves.
///
/// Thread-safety: pure.
/// Checked by: tests/unit/jobs/group_buffer_test.cc, slots_agree_test.cc.
class PrefixPlaces {
 public:
  /// Places of some thousand of ten million entries fit into the cache, where they are sorted;
  /// their ends do, too.
  static constexpr int kBits = 11;
  static constexpr std::size_t kCount = std::size_t{1} << kBits;

  /// Requires: prefixes of low .. high.
  PrefixPlaces(std::uint64_t low, std::uint64_t high)
      : low_(low), shift_(std::max(0, static_cast<int>(std::bit_width(high - low)) - kBits)) {}

  /// Adds the entries of each place to counts[0, kCount).
  template <typename Entry>
  void Count(absl::Span<const Entry> entries, std::size_t* counts) const {
    for (const Entry& entry : entries) ++counts[PlaceOf(entry)];
  }
  /// Puts entries where next[0, kCount) says, which rises.
  template <typename Entry>
  void Put(absl::Span<const Entry> entries, std::size_t* next, Entry* into) const {
    for (const Entry& entry : entries) into[next[PlaceOf(entry)]++] = entry;
  }

 private:
  template <typename Entry>
  std::size_t PlaceOf(const Entry& entry) const {
    return static_cast<std::size_t>((entry.prefix - low_) >> shift_);
  }

  const std::uint64_t low_;
  const int shift_;
};

/// Sorts entries[0, size) by their keys, where `prefix` of each is KeyPrefix of its key; equal ones
/// keep their order. `key_of(entry)` is the key, `before(a, b)` the order of entries whose prefixes
/// are equal. Uses room for as many entries at `spare`.
///
/// Model: distributes by the leading bits in which prefixes differ, then by the bytes behind them.
/// Thread-safety: pure.
/// Checked by: tests/unit/jobs/group_buffer_test.cc, sorted_entries_test.cc.
template <typename Entry, typename KeyOf, typename Before>
void SortByPrefix(Entry* entries, std::size_t size, Entry* spare, KeyOf key_of, Before before) {
  prefix_sort_internal::SortFrom(entries, size, spare, 0, key_of, before);
}

}  // namespace weir
