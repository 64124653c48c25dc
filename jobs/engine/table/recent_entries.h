#pragma once

// Where the keys that came last are in a table. Upstream: key_batch.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir {

/// Finds the entry of a key that came a short while ago, in memory that the nearest caches hold.
/// Where few keys are found it is out of use, for longer each time: then looking costs more than
/// it saves, because nobody can foretell which of the two ways a key takes.
///
/// Model: sets of two places by the first bits of the hash, so that two keys of one set do not
///   drive each other out. A place has the entry's word beside its address: that a key is new is
///   known without the entry that was there before, which no cache has any more.
/// Thread-safety: one thread at a time.
/// Checked by: tests/unit/jobs/recent_entries_test.cc.
template <typename Entry>
class RecentEntries {
 public:
  /// Never in use unless `may_find`.
  explicit RecentEntries(bool may_find)
      : in_use_(may_find),
        left_(may_find ? kTriedKeys : std::numeric_limits<std::int64_t>::max()) {}
  RecentEntries(const RecentEntries&) = delete;
  RecentEntries& operator=(const RecentEntries&) = delete;

  bool in_use() const { return in_use_; }

  /// The entry with such a hash and this `meta`, of which there may be several; null where none is
  /// known. Requires: a meta other than zero.
  [[gnu::always_inline]] Entry* Find(std::uint64_t hash, std::uint64_t meta) {
    Set& set = sets_[SetOf(hash)];
    if (set.last.meta == meta) return set.last.entry;
    if (set.before.meta == meta) return set.before.entry;
    return nullptr;
  }
  void Remember(std::uint64_t hash, Entry& entry) {
    Set& set = sets_[SetOf(hash)];
    set.before = set.last;
    set.last = {entry.meta, &entry};
  }

  /// To be called when entries are where they were no longer.
  void Forget() { sets_.fill({}); }
  /// The same, of those whose hashes have the first eight bits in common with this one.
  void ForgetSubTable(std::uint64_t hash) {
    constexpr std::ptrdiff_t kSets = 1 << (kLog2Sets - kSubTableBits);
    const auto first =
        sets_.begin() + static_cast<std::ptrdiff_t>(hash >> (64 - kSubTableBits)) * kSets;
    std::fill(first, first + kSets, Set{});
  }

  void CountFound() { ++found_; }
  /// Keys that were looked for elsewhere. Out of use or in use again after some of them.
  void CountMissed(std::size_t keys) {
    left_ -= static_cast<std::int64_t>(keys);
    if (left_ > 0) return;
    if (!in_use_) {
      Forget();
      in_use_ = true;
    } else if (found_ < kFoundToMissed * kTriedKeys) {
      in_use_ = false;
      left_ = left_out_keys_;
      left_out_keys_ = std::min(2 * left_out_keys_, kLeftOutKeysMax);
      return;
    } else {
      left_out_keys_ = kLeftOutKeys;
    }
    found_ = 0;
    left_ = kTriedKeys;
  }

 private:
  // 32 KiB, of which a few hundred keys touch a part: so many that three of them seldom meet.
  static constexpr int kLog2Sets = 10;
  static constexpr int kSubTableBits = 8;
  // A branch that is foretold wrongly costs as much as the longer way.
  static constexpr std::int64_t kFoundToMissed = 7;
  static constexpr std::int64_t kTriedKeys = 512;
  static constexpr std::int64_t kLeftOutKeys = 4096;
  static constexpr std::int64_t kLeftOutKeysMax = 256 * kLeftOutKeys;

  struct Place {
    std::uint64_t meta = 0;
    Entry* entry = nullptr;
  };
  struct alignas(2 * sizeof(Place)) Set {
    Place last;
    Place before;
  };

  static std::size_t SetOf(std::uint64_t hash) { return hash >> (64 - kLog2Sets); }

  bool in_use_;
  std::int64_t found_ = 0;
  std::int64_t left_;
  std::int64_t left_out_keys_ = kLeftOutKeys;
  std::array<Set, std::size_t{1} << kLog2Sets> sets_;
};

}  // namespace weir
