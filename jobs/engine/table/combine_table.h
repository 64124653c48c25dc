#pragma once

// The hash table that folds values of equal keys. Upstream: combine_emit.h, combine_layer.h.
// Downstream: key_ranges.h (sections), sorted output.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "jobs/engine/table/byte_arena.h"
#include "jobs/engine/table/packed_key.h"
#include "jobs/engine/table/slab_store.h"
#include "jobs/engine/table/table_memory.h"
#include "jobs/engine/table/value_memory.h"

namespace weir {

/// How the engine hands small things to what it calls seldom: copied, because whatever is taken by
/// address somewhere lies in memory on the way that most keys take, too.
template <typename T>
using HandedOn =
    std::conditional_t<std::is_trivially_copyable_v<T> && sizeof(T) <= 32, T, const T&>;

/// Whether keys may come again soon: those of a section do not.
enum class KeysCome { kOnce, kAgain };

/// Open addressing with linear probing. Once it outgrows the cache it is split by the first 8 bits
/// of the hash into 256 sub-tables, which grow one at a time, are cut into key ranges and merged
/// with those of other tables piece by piece.
///
/// Thread-safety: one thread at a time; after Split, different sub-tables by different threads.
/// Ownership: keys longer than kInlineKeyBytes are copied once, when they are new.
/// Checked by: tests/unit/jobs/combine_table_test.cc.
template <typename Value>
class CombineTable {
 public:
  static constexpr int kSubTables = 256;
  /// Values may hold memory of the heap, which is counted with every change of one.
  static constexpr bool kCountsHeap = ValueMemory<Value>::kOwnsHeap;

  // An entry that needs more than 40 of a cache line's 64 bytes gets them all: half of those of 48
  // would lie in two lines, and a table that is no longer small would ask for both each time.
  static constexpr std::size_t kLineBytes = 64;
  static constexpr std::size_t kLeastBytes = 3 * sizeof(std::uint64_t) + sizeof(Value);
  static constexpr bool kFillsLine = kLeastBytes > 40 && kLeastBytes <= kLineBytes;

  struct alignas(kFillsLine ? kLineBytes : alignof(std::uint64_t)) Entry {
    std::uint64_t word0;
    std::uint64_t word1;  // address of the bytes when the key is longer than kInlineKeyBytes
    std::uint64_t meta;   // 32 bits of the hash, then length + 1; zero marks a free entry
    Value value;

    std::uint32_t key_bytes() const { return static_cast<std::uint32_t>(meta) - 1; }
    std::uint32_t hash32() const { return static_cast<std::uint32_t>(meta >> 32); }
    std::string_view key() const {
      const std::uint32_t bytes = key_bytes();
      if (bytes <= kInlineKeyBytes) return {reinterpret_cast<const char*>(this), bytes};
      return {reinterpret_cast<const char*>(word1), bytes};
    }
  };

  /// Where keys come again and an entry fits into a cache line, a table of a few thousand keys
  /// stays whole, and becomes sparse once so many were found beside their first places that it
  /// pays. Moves are counted from `moves` on.
  explicit CombineTable(std::shared_ptr<SlabStore> slabs = std::make_shared<SlabStore>(),
                        KeysCome come = KeysCome::kOnce, std::uint64_t moves = 0)
      : memory_(sizeof(Entry), slabs),
        arena_(std::move(slabs), kKeyBytesInUnits),
        may_be_sparse_(come == KeysCome::kAgain && sizeof(Entry) <= kLineBytes),
        moves_(moves) {
    Start(sub_tables_[0], kLog2FirstEntries);
  }
  ~CombineTable() {
    if constexpr (!std::is_trivially_destructible_v<Value>) {
      for (int sub = 0; sub <= sub_mask_; ++sub) {
        ForEach(sub, [](Entry& entry) { entry.value.~Value(); });
      }
    }
  }
  CombineTable(const CombineTable&) = delete;
  CombineTable& operator=(const CombineTable&) = delete;

  /// True while the table fits into the cache, so that prefetching would only cost.
  bool small() const { return sub_mask_ == 0; }

  /// Asks for the memory of a key. Requires: not small().
  // In line: what only asks for memory has no effect that compilers know of, and GCC leaves calls
  // of it out.
  [[gnu::always_inline]] void Prefetch(std::uint64_t hash) const {
    const SubTable& table = sub_tables_[SplitSubOf(hash)];
    const Entry* const entry = &table.entries[Hash32(hash) & table.mask];
    __builtin_prefetch(entry, 1);
    // Others may begin in one line of the cache and end in the next.
    if constexpr (kLineBytes % sizeof(Entry) != 0) {
      __builtin_prefetch(reinterpret_cast<const char*>(entry + 1) - 1, 1);
    }
  }

  /// Folds `value` into the entry of the key with fold(Value& into, const Value& from), or makes
  /// the entry, and returns it: it stays there while moves() is the same. `key.data` need not
  /// outlive the call.
  template <typename Fold>
  [[gnu::always_inline]] Entry& Upsert(const PackedKey& key, const Value& value, Fold&& fold) {
    return PutIn(sub_tables_[SubOf(key.hash)], key, value, fold);
  }

  /// The same, with little of it in the job's loop: a key at its first place, as most of a small
  /// table are; everything else is called. Requires: small().
  template <typename Fold>
  [[gnu::always_inline]] Entry& UpsertSmall(const PackedKey& key, const Value& value, Fold& fold) {
    if constexpr (!kCountsHeap) {
      const SubTable& table = sub_tables_[0];
      const std::uint64_t meta = MetaOf(key);
      Entry& first = table.entries[(meta >> 32) & table.mask];
      if (first.meta == meta && first.word0 == key.word0) [[likely]] {
        if (first.word1 == key.word1 || IsOfLong(first, key)) [[likely]] {
          fold(first.value, value);
          return first;
        }
      }
    }
    return UpsertElsewhere<Fold>(key, value, fold);
  }

  /// The same. Requires: not small().
  template <typename Fold>
  [[gnu::always_inline]] Entry& UpsertSplit(const PackedKey& key, const Value& value, Fold& fold) {
    return PutIn(sub_tables_[SplitSubOf(key.hash)], key, value, fold);
  }

  /// What Entry::meta is of a key.
  static std::uint64_t MetaOf(const PackedKey& key) {
    return static_cast<std::uint64_t>(Hash32(key.hash)) << 32 |
           (static_cast<std::uint64_t>(key.bytes) + 1);
  }
  /// True when the entry is that of the key, which it says of short ones only. Requires: an entry
  /// whose meta is that of the key.
  [[gnu::always_inline]] static bool IsOfShort(const Entry& entry, const PackedKey& key) {
    // A long key has a word1 of zero, its entry an address.
    return entry.word0 == key.word0 && entry.word1 == key.word1;
  }

  /// The same of long keys only. Requires: the first word is that of the key, too.
  [[gnu::always_inline]] static bool IsOfLong(const Entry& entry, const PackedKey& key) {
    if (key.bytes <= kInlineKeyBytes) return false;
    if (key.bytes > 2 * kInlineKeyBytes) return SameBytes(entry.word1, key.data, key.bytes);
    // The second word, and the last two, which may lie over it.
    const char* const kept = reinterpret_cast<const char*>(entry.word1);
    const auto differ = [&](std::size_t at) {
      return packed_key_internal::Load(kept + at) ^ packed_key_internal::Load(key.data + at);
    };
    return (differ(8) | differ(key.bytes - 16) | differ(key.bytes - 8)) == 0;
  }

  /// How often entries have been moved.
  std::uint64_t moves() const { return moves_; }

  /// Splits into sub-tables, if that has not happened yet.
  void Split() {
    if (!small()) return;
    ++moves_;
    SubTable whole = sub_tables_[0];
    sub_mask_ = kSubTables - 1;
    for (SubTable& table : sub_tables_) Start(table, kLog2SubEntries);
    for (std::uint64_t i = 0; i <= whole.mask; ++i) {
      Entry& entry = whole.entries[i];
      if (entry.meta == 0) continue;
      SubTable& table = sub_tables_[HashKey(entry.key()) >> 56];
      if (table.used == LimitOf(table)) {
        Grow<Growth::kLikeNeighbour>(table, table.log2_entries + 1);
      }
      if constexpr (kCountsHeap) table.heap_bytes += HeapBytes(entry.value);
      Place(table, entry);
      ++table.used;
    }
    memory_.Return(whole.entries, whole.log2_entries);
  }

  /// Folds all entries of one sub-table of `other` into this table. Values of this table come
  /// first. Requires: both are split. Long keys are not copied: `other` must outlive this table.
  template <typename Fold>
  void Merge(int sub, const CombineTable& other, Fold&& fold) {
    SubTable& into = sub_tables_[static_cast<std::size_t>(sub)];
    // Entries come in the order of their places: a table that must grow does so early, because
    // where they have been it is fuller than its limit by then.
    const std::uint64_t tried = other.sub_tables_[static_cast<std::size_t>(sub)].used / 8;
    const std::uint64_t used = into.used;
    std::uint64_t visited = 0;
    other.ForEach(sub, [&](const Entry& entry) {
      if (visited++ == tried && into.used + 7 * (into.used - used) > LimitOf(into)) {
        Grow<Growth::kAlone>(into, into.log2_entries + 1);
      }
      PackedKey key;
      key.word0 = entry.word0;
      key.word1 = entry.key_bytes() <= kInlineKeyBytes ? entry.word1 : 0;
      key.hash = static_cast<std::uint64_t>(entry.hash32()) << 24;
      key.bytes = entry.key_bytes();
      key.data = entry.key().data();
      Put<Growth::kAlone>(into, key, entry.value, fold, [](const char* data, std::uint32_t) {
        return reinterpret_cast<std::uint64_t>(data);
      });
    });
  }

  /// Gives up the entries of a sub-table, whose memory others may use; the bytes of long keys stay.
  /// Nothing may be added to it afterwards. Requires: the table is split. Thread-safety: several
  /// sub-tables at a time, each by one thread.
  void Drop(int sub) {
    SubTable& table = sub_tables_[static_cast<std::size_t>(sub)];
    if constexpr (!std::is_trivially_destructible_v<Value>) {
      ForEach(sub, [](Entry& entry) { entry.value.~Value(); });
    }
    memory_.Return(table.entries, table.log2_entries);
    table = {};
  }

  /// Calls visit(Entry&) for each entry of a sub-table; sub-table 0 is all of an unsplit table.
  template <typename Visit>
  void ForEach(int sub, Visit&& visit) {
    VisitEntries<Entry>(sub_tables_[static_cast<std::size_t>(sub)], visit);
  }
  template <typename Visit>
  void ForEach(int sub, Visit&& visit) const {
    VisitEntries<const Entry>(sub_tables_[static_cast<std::size_t>(sub)], visit);
  }

  /// Position of the key of an entry (see KeyPosition). Requires: the table is split.
  static std::uint64_t PositionOf(int sub, const Entry& entry) {
    return static_cast<std::uint64_t>(sub) << 32 | entry.hash32();
  }

  std::int64_t size() const {
    std::int64_t used = 0;
    for (const SubTable& table : sub_tables_) used += static_cast<std::int64_t>(table.used);
    return used;
  }
  std::int64_t size(int sub) const {
    return static_cast<std::int64_t>(sub_tables_[static_cast<std::size_t>(sub)].used);
  }

  /// Bytes of entries, long keys and what values hold on the heap.
  std::int64_t memory_bytes() const { return memory_.bytes() + arena_.bytes() + heap_bytes(); }

  /// What values hold on the heap (ValueMemory).
  std::int64_t heap_bytes() const {
    std::int64_t bytes = 0;
    if constexpr (kCountsHeap) {
      for (const SubTable& table : sub_tables_) bytes += table.heap_bytes;
    }
    return bytes;
  }

 private:
  static std::int64_t HeapBytes(const Value& value) { return ValueMemory<Value>::HeapBytes(value); }

  // Whether a sub-table that is full looks at the one before it. While slots merge, that belongs to
  // somebody else.
  enum class Growth { kAlone, kLikeNeighbour };

  struct SubTable {
    Entry* entries = nullptr;
    std::uint64_t mask = 0;
    std::uint64_t used = 0;
    int log2_entries = 0;
    std::uint64_t displaced = 0;  // found beside their first places; of a table that is not split
    std::int64_t heap_bytes = 0;  // of its values; 0 where values hold none
  };

  // Far more room than the stations or codes of a small table need: a probe that hits at once is
  // predicted, and only the lines in use take up cache.
  static constexpr int kLog2FirstEntries = 12;
  static constexpr int kLog2SubEntries = TableMemory::kLog2LeastEntries;
  // How full a crowded table becomes, and the most entries it takes for that: 4 MiB.
  static constexpr std::uint64_t kSparseEntriesMax = 1 << 16;
  static constexpr std::uint64_t kSparsePart = 8;
  // To look beside its first place for a key costs some 6 ns, to give one a place in a table that
  // is new 100 to 200, most of them for pages.
  static constexpr std::uint64_t kDisplacedAKey = 16;
  // Of all sub-tables together 8 MiB or more.
  static constexpr int kLog2LargeEntries = 10;
  // Of long keys: from here on they lie in units of 2 MiB, of which up to one is left unused.
  static constexpr std::int64_t kKeyBytesInUnits = 4 << 20;
  // About 256 KiB of entries: beyond that probes leave the level-2 cache.
  static constexpr std::uint64_t kSplitKeys = 4096;
  // Keys that come again find up to 1 MiB of lines there.
  static constexpr std::uint64_t kSparseSplitKeys = 16384;

  static std::uint32_t Hash32(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 24); }
  static std::size_t SplitSubOf(std::uint64_t hash) { return static_cast<std::size_t>(hash >> 56); }
  std::size_t SubOf(std::uint64_t hash) const {
    return SplitSubOf(hash) & static_cast<std::size_t>(sub_mask_);
  }
  // Above half full, linear probing slows down faster than a larger table does, as long as that is
  // in the cache; beyond, neighbours of an entry are cheap beside fresh pages.
  static std::uint64_t LimitOf(const SubTable& table) {
    const std::uint64_t entries = table.mask + 1;
    return table.log2_entries < kLog2LargeEntries ? entries / 2 : entries / 8 * 5;
  }
  // A key that is not at its first place costs a branch that is foretold wrongly, and empty lines
  // of what a level-2 cache holds cost nothing: a table grows once such keys have cost as much as
  // that.
  static bool IsCrowded(const SubTable& table) {
    return table.displaced > kDisplacedAKey * table.used && table.mask + 1 < SparseEntries(table);
  }
  static std::uint64_t SparseEntries(const SubTable& table) {
    return std::min(kSparsePart * table.used, kSparseEntriesMax);
  }

  void Start(SubTable& table, int log2_entries) {
    table.entries = static_cast<Entry*>(memory_.Take(log2_entries));
    table.mask = (std::uint64_t{1} << log2_entries) - 1;
    table.used = 0;
    table.log2_entries = log2_entries;
    table.displaced = 0;
    table.heap_bytes = 0;
  }

  template <typename Fold>
  [[gnu::noinline]] Entry& UpsertElsewhere(PackedKey key, HandedOn<Value> value, Fold fold) {
    SubTable& table = sub_tables_[0];
    if (may_be_sparse_ && IsCrowded(table)) {
      Grow<Growth::kLikeNeighbour>(table, std::bit_width(SparseEntries(table) - 1));
    }
    Entry& entry = PutIn(table, key, value, fold);
    if (&entry != &table.entries[Hash32(key.hash) & table.mask]) ++table.displaced;
    return entry;
  }

  template <typename Fold>
  [[gnu::always_inline]] Entry& PutIn(SubTable& table, const PackedKey& key, const Value& value,
                                      Fold& fold) {
    return Put<Growth::kLikeNeighbour>(
        table, key, value, fold, [this](const char* data, std::uint32_t bytes) {
          return reinterpret_cast<std::uint64_t>(arena_.Copy({data, bytes}));
        });
  }

  // The search is in line, and everything stays in registers; what happens once per distinct key is
  // called.
  template <Growth kGrowth, typename Fold, typename Keep>
  [[gnu::always_inline]] Entry& Put(SubTable& table, const PackedKey& key, const Value& value,
                                    Fold& fold, Keep&& keep) {
    const std::uint64_t meta = MetaOf(key);
    const bool is_inline = key.bytes <= kInlineKeyBytes;
    for (std::uint64_t i = (meta >> 32) & table.mask;; i = (i + 1) & table.mask) {
      Entry& entry = table.entries[i];
      if (entry.meta == meta && entry.word0 == key.word0) [[likely]] {
        if (is_inline ? entry.word1 == key.word1 : SameBytes(entry.word1, key.data, key.bytes))
            [[likely]] {
          if constexpr (kCountsHeap) {
            const std::int64_t before = HeapBytes(entry.value);
            fold(entry.value, value);
            table.heap_bytes += HeapBytes(entry.value) - before;
          } else {
            fold(entry.value, value);
          }
          return entry;
        }
      } else if (entry.meta == 0) {
        const std::uint64_t word1 = is_inline ? key.word1 : keep(key.data, key.bytes);
        if constexpr (kCountsHeap) {
          const bool may_split = small();
          Entry& claimed = Claim<kGrowth>(table, key.hash, meta, key.word0, word1);
          new (&claimed.value) Value(value);
          SubTable& holder = may_split ? sub_tables_[SubOf(key.hash)] : table;
          holder.heap_bytes += HeapBytes(claimed.value);
          return claimed;
        } else {
          Entry& claimed = Claim<kGrowth>(table, key.hash, meta, key.word0, word1);
          new (&claimed.value) Value(value);
          return claimed;
        }
      }
    }
  }

  [[gnu::noinline]] static bool SameBytes(std::uint64_t kept, const char* data,
                                          std::uint32_t bytes) {
    return std::memcmp(reinterpret_cast<const char*>(kept), data, bytes) == 0;
  }

  // Takes the place of a key that is not in the table, which grows when it is full to its limit.
  template <Growth kGrowth>
  [[gnu::noinline]] Entry& Claim(SubTable& table, std::uint64_t hash, std::uint64_t meta,
                                 std::uint64_t word0, std::uint64_t word1) {
    SubTable* into = &table;
    if (small() && table.used == (may_be_sparse_ ? kSparseSplitKeys : kSplitKeys)) {
      Split();
      into = &sub_tables_[SubOf(hash)];
    }
    if constexpr (kGrowth == Growth::kAlone) {
      if (into->used == LimitOf(*into)) Grow<kGrowth>(*into, into->log2_entries + 1);
    } else {
      const int log2_entries = GrownWithNeighbour(*into);
      if (log2_entries > into->log2_entries) Grow<kGrowth>(*into, log2_entries);
    }
    ++into->used;
    Entry& entry = FreeEntry(*into, meta);
    entry.word0 = word0;
    entry.word1 = word1;
    entry.meta = meta;
    return entry;
  }

  static Entry& FreeEntry(SubTable& table, std::uint64_t meta) {
    std::uint64_t i = (meta >> 32) & table.mask;
    while (table.entries[i].meta != 0) i = (i + 1) & table.mask;
    return table.entries[i];
  }

  // Moves an entry whose key is not in the table.
  static void Place(SubTable& table, Entry& entry) {
    Entry& free = FreeEntry(table, entry.meta);
    free.word0 = entry.word0;
    free.word1 = entry.word1;
    free.meta = entry.meta;
    new (&free.value) Value(std::move(entry.value));
    if constexpr (!std::is_trivially_destructible_v<Value>) entry.value.~Value();
  }

  // Sections of runs come in the order of hashes, so sub-tables fill one after the other and end
  // alike: each becomes as large as the one before, without a move for every doubling. A large one
  // does so before it is full: the places of a second section rise, too, and where it has been, a
  // table that is half full overflows long before all of it is.
  int GrownWithNeighbour(const SubTable& table) const {
    const int own = table.log2_entries;
    const std::uint64_t limit = LimitOf(table);
    const bool is_full = table.used == limit;
    if (!is_full && (own < kLog2LargeEntries || table.used < limit / 2)) return own;
    const std::ptrdiff_t sub = &table - sub_tables_.data();
    const int before = sub == 0 ? 0 : sub_tables_[static_cast<std::size_t>(sub - 1)].log2_entries;
    return std::max(is_full ? own + 1 : own, before);
  }

  template <Growth kGrowth>
  void Grow(SubTable& table, int log2_entries) {
    // Not counted while slots merge, each some of the sub-tables: nobody asks then.
    if (kGrowth == Growth::kLikeNeighbour) ++moves_;
    SubTable larger;
    Start(larger, log2_entries);
    for (std::uint64_t i = 0; i <= table.mask; ++i) {
      Entry& entry = table.entries[i];
      if (entry.meta == 0) continue;
      Place(larger, entry);
    }
    larger.used = table.used;
    larger.heap_bytes = table.heap_bytes;
    memory_.Return(table.entries, table.log2_entries);
    table = larger;
  }

  template <typename VisitedEntry, typename Visit>
  static void VisitEntries(const SubTable& table, Visit& visit) {
    if (table.used == 0) return;
    for (std::uint64_t i = 0; i <= table.mask; ++i) {
      VisitedEntry& entry = table.entries[i];
      if (entry.meta != 0) visit(entry);
    }
  }

  TableMemory memory_;
  ByteArena arena_;
  const bool may_be_sparse_;
  std::uint64_t moves_;
  int sub_mask_ = 0;
  std::array<SubTable, kSubTables> sub_tables_;
};

}  // namespace weir
