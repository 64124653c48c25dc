#pragma once

// Where the keys that came last are in a table. Upstream: key_batch.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir {

/// Finds the entry of a key that came a short while ago, in memory that the nearest cache holds.
/// Where few keys are found it is out of use, for longer each time: then looking costs more than
/// it saves, because nobody can foretell which of the two ways a key takes.
///
/// Thread-safety: one thread at a time.
/// Checked by: tests/unit/jobs/recent_entries_test.cc.
template <typename Entry>
class RecentEntries {
 public:
  /// Never in use unless `may_find`.
  explicit RecentEntries(bool may_find)
      : in_use_(may_find), left_(may_find ? kTriedKeys : std::numeric_limits<std::int64_t>::max()) {
    Forget();
  }
  RecentEntries(const RecentEntries&) = delete;
  RecentEntries& operator=(const RecentEntries&) = delete;

  bool in_use() const { return in_use_; }

  /// Some entry; that of no key where none is known.
  Entry& Of(std::uint64_t hash) { return *entries_[PlaceOf(hash)]; }
  void Set(std::uint64_t hash, Entry& entry) { entries_[PlaceOf(hash)] = &entry; }

  /// To be called when entries are where they were no longer.
  void Forget() { entries_.fill(&none_); }

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
  // 32 KiB, of which a few hundred keys touch a part: so many that they seldom meet at one place.
  static constexpr std::size_t kEntries = 4096;
  // A branch that is foretold wrongly costs as much as the longer way.
  static constexpr std::int64_t kFoundToMissed = 7;
  static constexpr std::int64_t kTriedKeys = 512;
  static constexpr std::int64_t kLeftOutKeys = 4096;
  static constexpr std::int64_t kLeftOutKeysMax = 256 * kLeftOutKeys;

  // The bits by which a sub-table finds its place.
  static std::size_t PlaceOf(std::uint64_t hash) { return (hash >> 24) % kEntries; }

  Entry none_{};
  bool in_use_;
  std::int64_t found_ = 0;
  std::int64_t left_;
  std::int64_t left_out_keys_ = kLeftOutKeys;
  std::array<Entry*, kEntries> entries_;
};

}  // namespace weir
