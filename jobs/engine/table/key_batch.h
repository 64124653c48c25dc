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
#include <type_traits>
#include <utility>

#include "jobs/engine/table/combine_table.h"
#include "jobs/engine/table/packed_key.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {

/// How the engine hands small things to what it calls seldom: copied, because whatever is taken by
/// address somewhere lies in memory on the way that most keys take, too.
template <typename T>
using HandedOn =
    std::conditional_t<std::is_trivially_copyable_v<T> && sizeof(T) <= 32, T, const T&>;

/// Puts (key, value) pairs into a table in the order given.
///
/// Requires: Flush before memory that AddStable pointed into is reused.
/// Bounds: kPending pairs and kScratchBytes of key bytes.
template <typename Value, typename Fold>
class KeyBatch {
 public:
  KeyBatch(Fold fold, std::shared_ptr<SlabStore> slabs)
      : fold_(fold), slabs_(std::move(slabs)), table_(slabs_) {}

  CombineTable<Value>& table() { return table_; }

  /// Begins again with an empty table. Requires: nothing is pending.
  void Clear() {
    std::destroy_at(&table_);
    std::construct_at(&table_, slabs_);
  }

  /// Adds a key whose bytes stay in place until Flush, with 16 readable bytes from its first on.
  [[gnu::always_inline]] void AddStable(const char* data, std::size_t bytes, const Value& value) {
    Add(PackKey(data, static_cast<std::uint32_t>(bytes)), value);
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
        table_.Upsert(PackKey(padded.data(), static_cast<std::uint32_t>(key.size())), value, fold_);
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
    if (has_long_) {
      for (std::size_t i = 0; i < num_pending_; ++i) {
        if (pending_[i].key.bytes > kInlineKeyBytes) table_.PrefetchLong(pending_[i].key);
      }
      has_long_ = false;
    }
    for (std::size_t i = 0; i < num_pending_; ++i) {
      table_.Upsert(pending_[i].key, pending_[i].value, fold_);
    }
    num_pending_ = 0;
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

  [[gnu::always_inline]] void Add(const PackedKey& key, const Value& value) {
    if (table_.small()) {
      // Order is kept: nothing is pending while the table is small.
      table_.Upsert(key, value, fold_);
      return;
    }
    table_.Prefetch(key.hash);
    has_long_ |= key.bytes > kInlineKeyBytes;
    pending_[num_pending_].key = key;
    pending_[num_pending_].value = value;
    if (++num_pending_ == kPending) Flush();
  }

  Fold fold_;
  const std::shared_ptr<SlabStore> slabs_;
  CombineTable<Value> table_;
  std::array<Pending, kPending> pending_;
  std::size_t num_pending_ = 0;
  bool has_long_ = false;  // one of them
  std::size_t scratch_used_ = 0;
  std::array<char, kScratchBytes> scratch_;
};

}  // namespace weir
