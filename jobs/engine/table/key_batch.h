#pragma once

// Holds back a few keys before they enter a table, so that the memory they will touch is on its way
// while the next ones are hashed. Upstream: combine_emit.h, the reduce of combine_layer.h.
// Downstream: combine_table.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "jobs/api/key_place.h"
#include "jobs/engine/table/combine_table.h"
#include "jobs/engine/table/packed_key.h"
#include "jobs/engine/table/recent_entries.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {

/// Puts (key, value) pairs into a table in the order given.
///
/// Model: pairs of a table that has outgrown the cache wait until what they will touch is there. A
///   key that came a short while ago is found by where it was then (RecentEntries) and does not
///   wait: in rows in order of time nearly all are such. Values that come with a place (KeyPlace)
///   go past what waits.
/// Requires: Flush before memory that AddStable pointed into is reused; keys of at most
///   kPairBytesMax bytes (EmitBase::Fits), whose length has room in 32 bits.
/// Bounds: kPending pairs and kScratchBytes of key bytes.
/// Checked by: tests/unit/jobs/combine_table_test.cc, recent_entries_test.cc.
template <typename Value, typename Fold>
class KeyBatch {
 public:
  KeyBatch(Fold fold, std::shared_ptr<SlabStore> slabs, KeysCome come)
      : fold_(fold),
        slabs_(std::move(slabs)),
        come_(come),
        table_(slabs_, come),
        recent_(come == KeysCome::kAgain && !CombineTable<Value>::kCountsHeap) {}

  CombineTable<Value>& table() { return table_; }

  /// Begins again with an empty table. Requires: nothing is pending.
  void Clear() {
    // No place of before is one of the new table.
    const std::uint64_t moves = table_.moves() + 1;
    std::destroy_at(&table_);
    std::construct_at(&table_, slabs_, come_, moves);
    recent_.Forget();
  }

  /// Adds a key whose bytes stay in place until Flush, with 16 readable bytes from its first on.
  [[gnu::always_inline]] void AddStable(const char* data, std::size_t bytes, const Value& value) {
    Add(PackKey(data, static_cast<std::uint32_t>(bytes)), value);
  }

  /// Adds a value to the key of a place, before all that wait; false where that has no entry there.
  [[gnu::always_inline]] bool AddAt(const KeyPlace& place, const Value& value) {
    if (place.state != table_.moves()) [[unlikely]]
      return false;
    fold_(*static_cast<Value*>(place.value), value);
    recent_.CountFound();
    return true;
  }

  /// The same of a key that waits.
  bool AddToPending(const KeyPlace& place, const Value& value) {
    if (place.state != pending_state_) return false;
    fold_(*static_cast<Value*>(place.value), value);
    return true;
  }

  /// Adds a key that needs no memory, and tells where it is from now on, or while it waits.
  void AddShort(const ShortKey& key, const Value& value, KeyPlace& place) {
    Entry* const entry = Add(PackKey(key), value);
    if (entry != nullptr) {
      place = {&entry->value, table_.moves()};
    } else if (num_pending_ > 0) {
      place = {&pending_[num_pending_ - 1].value, pending_state_};
    }
  }

  /// Adds a key that needs no memory.
  [[gnu::always_inline]] void AddShort(const ShortKey& key, const Value& value) {
    Add(PackKey(key), value);
  }

  /// Adds a key that may be gone after the call.
  [[gnu::noinline]] void AddCopied(std::string_view key, HandedOn<Value> value) {
    const std::size_t room = key.size() + kInlineKeyBytes;
    if (scratch_used_ + room > kScratchBytes) {
      Flush();
      if (room > kScratchBytes) {
        std::string padded(key);
        padded.resize(room);
        PutNow(PackKey(padded.data(), static_cast<std::uint32_t>(key.size())), value);
        return;
      }
    }
    char* copy = scratch_.data() + scratch_used_;
    if (!key.empty()) std::memcpy(copy, key.data(), key.size());
    const PackedKey packed = PackKey(copy, static_cast<std::uint32_t>(key.size()));
    if (packed.bytes > kInlineKeyBytes) scratch_used_ += key.size();
    Add(packed, value);
    if (num_pending_ == 0) scratch_used_ = 0;
  }

  void Flush() {
    // Two loops, because what few jobs need would cost the others registers.
    if (recent_.in_use()) {
      FlushAndRemember();
    } else {
      for (std::size_t i = 0; i < num_pending_; ++i) {
        table_.UpsertSplit(pending_[i].key, pending_[i].value, fold_);
      }
    }
    recent_.CountMissed(num_pending_);
    num_pending_ = 0;
    ++pending_state_;
    scratch_used_ = 0;
  }

 private:
  // More do not hide more latency (a core has 10 to 16 misses under way) and cost level-1 cache.
  static constexpr std::size_t kPending = 32;
  static constexpr std::size_t kScratchBytes = 16 << 10;

  struct Pending {
    PackedKey key;
    Value value;
  };

  using Entry = typename CombineTable<Value>::Entry;

  // The entry of the key, or null where it waits.
  [[gnu::always_inline]] Entry* Add(const PackedKey& key, const Value& value) {
    // Order is kept: nothing is pending while the table is small.
    if (table_.small()) return &table_.UpsertSmall(key, value, fold_);
    if constexpr (!CombineTable<Value>::kCountsHeap) {
      if (recent_.in_use()) {
        // Nothing of a key that is found waits: it would have been found before.
        Entry* const entry = recent_.Find(key.hash, CombineTable<Value>::MetaOf(key));
        if (entry != nullptr && CombineTable<Value>::IsOfShort(*entry, key)) [[likely]] {
          fold_(entry->value, value);
          recent_.CountFound();
          return entry;
        }
      }
    }
    table_.Prefetch(key.hash);
    pending_[num_pending_].key = key;
    pending_[num_pending_].value = value;
    if (++num_pending_ == kPending) Flush();
    return nullptr;
  }

  [[gnu::noinline]] void FlushAndRemember() {
    for (std::size_t i = 0; i < num_pending_; ++i) {
      const PackedKey& key = pending_[i].key;
      recent_.Remember(key.hash, PutNow(key, pending_[i].value));
    }
  }

  // Requires: nothing of the key is pending.
  [[gnu::always_inline]] Entry& PutNow(const PackedKey& key, const Value& value) {
    const std::uint64_t moves = table_.moves();
    Entry& entry = table_.Upsert(key, value, fold_);
    // Of a table that is split only the sub-table of the key can have grown.
    if (table_.moves() != moves) recent_.ForgetSubTable(key.hash);
    return entry;
  }

  Fold fold_;
  const std::shared_ptr<SlabStore> slabs_;
  const KeysCome come_;
  CombineTable<Value> table_;
  RecentEntries<Entry> recent_;
  std::array<Pending, kPending> pending_;
  std::size_t num_pending_ = 0;
  // Of places: one for what waits until the next Flush. No table is moved so often.
  std::uint64_t pending_state_ = std::uint64_t{1} << 63;
  std::size_t scratch_used_ = 0;
  std::array<char, kScratchBytes> scratch_;
};

}  // namespace weir
