#pragma once

// Memory that stays with a task from one step to the next. Upstream: layered_program.h, which has
// one for the tables of all its layers; group_buffer.h. Downstream: table_memory.h, byte_arena.h,
// slab_array.h.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace weir {

/// Gives slabs of whole huge pages and keeps those that come back for who asks next: a page that is
/// fresh has to be found and cleared by the kernel, which costs as much as filling it.
///
/// What is kept is the kernel's as soon as it needs memory (MADV_FREE), so a task that waits for
/// its next step withholds nothing from others.
/// Thread-safety: safe; called per slab, never per record.
/// Ownership: every slab is back before the store goes.
/// Errors: throws std::bad_alloc where the system has no memory.
/// Bounds: what was in use at one time.
/// Checked by: tests/unit/jobs/slab_store_test.cc.
class SlabStore {
 public:
  /// Size and place of slabs are multiples of this, which is a huge page.
  static constexpr std::size_t kUnitBytes = 2 << 20;

  struct Slab {
    char* data = nullptr;
    bool cleared = false;  // nobody has written to it: all zero
  };

  SlabStore() = default;
  ~SlabStore();
  SlabStore(const SlabStore&) = delete;
  SlabStore& operator=(const SlabStore&) = delete;

  /// The least that Take accepts for so many bytes.
  static std::size_t RoundUp(std::size_t bytes) {
    return (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes;
  }

  /// Requires: a positive multiple of kUnitBytes.
  Slab Take(std::size_t bytes);
  /// Takes back what Take gave.
  void Return(char* data, std::size_t bytes);

  /// Bytes that were given and came back.
  std::int64_t kept_bytes() const;

 private:
  // Addresses are asked for in such pieces, so that slabs given one after the other are neighbours
  // and become a large one when they are back. Only what is written to takes memory.
  static constexpr std::size_t kFreshBytes = 64 << 20;

  // All with mutex_ held.
  char* TakeKept(std::size_t bytes);
  char* TakeFresh(std::size_t bytes);
  void GiveUpKept(std::size_t bytes);

  mutable std::mutex mutex_;
  std::map<char*, std::size_t> kept_;  // by place, neighbours joined; guarded by mutex_
  std::size_t kept_bytes_ = 0;         // guarded by mutex_
  char* fresh_ = nullptr;              // never given; guarded by mutex_
  std::size_t fresh_bytes_ = 0;        // guarded by mutex_
};

}  // namespace weir
