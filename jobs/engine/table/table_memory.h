#pragma once

// Memory of one hash table. Upstream: combine_table.h. Downstream: slab_store.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "jobs/engine/table/slab_store.h"

namespace weir {

/// Gives zeroed arrays of 2^k entries. What comes back is joined with its neighbour, so that the
/// sub-tables of a table that grows become larger ones: together they take what they use, not twice
/// as much, and few pages are fresh. Large tables lie on huge pages: most of their cost is the
/// search for the page.
///
/// Thread-safety: safe; called when a table grows, never per record.
/// Bounds: none of its own; who fills the table watches bytes().
/// Checked by: tests/unit/jobs/table_memory_test.cc.
class TableMemory {
 public:
  /// Requires: entries of a multiple of 8 bytes.
  TableMemory(std::size_t entry_bytes, std::shared_ptr<SlabStore> slabs);
  ~TableMemory();
  TableMemory(const TableMemory&) = delete;
  TableMemory& operator=(const TableMemory&) = delete;

  /// Requires: log2_entries >= kLog2LeastEntries.
  void* Take(int log2_entries);
  void Return(void* array, int log2_entries);

  /// Bytes taken from the system or the store.
  std::int64_t bytes() const;

  static constexpr int kLog2LeastEntries = 6;

 private:
  static constexpr int kLog2EntriesMax = 48;

  // Whole entries one after the other, cut in halves as arrays are asked for.
  struct Region {
    std::size_t bytes = 0;
    std::size_t entries = 0;
    std::size_t used = 0;  // entries in arrays that are out
    bool of_store = false;
  };
  using Regions = std::map<char*, Region>;
  // By the logarithm of their entries.
  using Blocks = std::array<std::set<char*>, kLog2EntriesMax>;

  struct Block {
    char* data = nullptr;
    bool cleared = false;
  };

  // All with mutex_ held.
  Block TakeBlock(int log2_entries);
  char* TakeFrom(Blocks& blocks, int log2_entries);
  void AddRegion(std::size_t bytes);
  void Drop(Regions::iterator region);
  Regions::iterator RegionOf(char* data);

  std::size_t BytesOf(int log2_entries) const { return entry_bytes_ << log2_entries; }

  const std::size_t entry_bytes_;
  const std::shared_ptr<SlabStore> slabs_;
  mutable std::mutex mutex_;
  Regions regions_;         // by place; guarded by mutex_
  Blocks free_;             // guarded by mutex_
  Blocks cleared_;          // never used: all zero; guarded by mutex_
  std::int64_t bytes_ = 0;  // guarded by mutex_
};

}  // namespace weir
