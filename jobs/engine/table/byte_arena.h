#pragma once

// Bytes that stay where they are until all are dropped at once. Upstream: combine_table.h (long
// keys), group_buffer.h (records). Downstream: slab_store.h.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/engine/table/slab_array.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {

/// Copies bytes into slabs that never move. Large ones lie on huge pages of the store: most of the
/// cost of a fresh small page is that the kernel has to be asked.
///
/// Thread-safety: one thread at a time.
/// Bounds: none of its own; who fills it watches bytes().
class ByteArena {
 public:
  /// From `units_from` bytes on, slabs are whole huge pages, which the store keeps for the next
  /// step; what is left unused is then up to one of them. Where many arenas stand side by side,
  /// that is too much: without it, slabs grow with what there is.
  explicit ByteArena(std::shared_ptr<SlabStore> slabs,
                     std::int64_t units_from = std::numeric_limits<std::int64_t>::max())
      : store_(std::move(slabs)), units_from_(units_from) {}

  /// Returns room for `bytes`; valid until Clear or destruction.
  char* Take(std::size_t bytes) {
    if (bytes > left_) [[unlikely]]
      AddSlab(bytes);
    char* room = next_;
    next_ += bytes;
    left_ -= bytes;
    return room;
  }

  const char* Copy(std::string_view bytes) {
    char* room = Take(bytes.size());
    if (!bytes.empty()) std::memcpy(room, bytes.data(), bytes.size());
    return room;
  }

  void Clear() {
    slabs_.clear();
    next_ = nullptr;
    left_ = 0;
    bytes_ = 0;
  }

  /// Bytes taken from the system.
  std::int64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kFirstSlabBytes = 16 << 10;
  static constexpr std::size_t kSlabBytesMax = 8 << 20;

  void AddSlab(std::size_t bytes) {
    // A part of what there is, so that little is left unused.
    std::size_t slab_bytes = std::clamp<std::size_t>(static_cast<std::size_t>(bytes_) / 16,
                                                     kFirstSlabBytes, kSlabBytesMax);
    if (bytes_ >= units_from_) slab_bytes = std::max(slab_bytes, SlabStore::kUnitBytes);
    slab_bytes = std::max(bytes, slab_bytes);
    if (slab_bytes >= SlabStore::kUnitBytes) slab_bytes = SlabStore::RoundUp(slab_bytes);
    slabs_.emplace_back(*store_, slab_bytes);
    next_ = slabs_.back().get();
    left_ = slab_bytes;
    bytes_ += static_cast<std::int64_t>(slab_bytes);
  }

  const std::shared_ptr<SlabStore> store_;
  const std::int64_t units_from_;
  std::vector<SlabArray<char>> slabs_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace weir
