#pragma once

// Memory of one hash table. Upstream: combine_table.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace weir {

/// Gives zeroed arrays of 2^k entries and takes them back for the next of the same size. Large
/// tables lie on huge pages: most of their cost is the search for the page.
///
/// Thread-safety: safe; called when a table grows, never per record.
/// Bounds: none of its own; who fills the table watches bytes().
class TableMemory {
 public:
  explicit TableMemory(std::size_t entry_bytes) : entry_bytes_(entry_bytes) {}
  ~TableMemory();
  TableMemory(const TableMemory&) = delete;
  TableMemory& operator=(const TableMemory&) = delete;

  void* Take(int log2_entries);
  void Return(void* array, int log2_entries);

  /// Bytes taken from the system.
  std::int64_t bytes() const;

 private:
  struct Slab {
    char* data = nullptr;
    std::size_t bytes = 0;
  };

  // With mutex_ held.
  char* Cut(std::size_t bytes);

  const std::size_t entry_bytes_;
  mutable std::mutex mutex_;
  std::array<std::vector<void*>, 48> returned_;  // guarded by mutex_
  std::vector<Slab> slabs_;                      // guarded by mutex_
  std::size_t slab_used_bytes_ = 0;              // guarded by mutex_
  std::int64_t bytes_ = 0;                       // guarded by mutex_
};

}  // namespace weir
