#pragma once

// Bytes that stay where they are until all are dropped at once. Upstream: combine_table.h (long
// keys), group_buffer.h (records).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace weir {

/// Copies bytes into slabs that never move.
///
/// Thread-safety: one thread at a time.
/// Bounds: none of its own; who fills it watches bytes().
class ByteArena {
 public:
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
  static constexpr std::size_t kSlabBytesMax = 1 << 20;

  void AddSlab(std::size_t bytes) {
    const std::size_t doubled = kFirstSlabBytes << std::min<std::size_t>(slabs_.size(), 6);
    const std::size_t slab_bytes = std::max(bytes, std::min(doubled, kSlabBytesMax));
    slabs_.emplace_back(new char[slab_bytes]);
    next_ = slabs_.back().get();
    left_ = slab_bytes;
    bytes_ += static_cast<std::int64_t>(slab_bytes);
  }

  std::vector<std::unique_ptr<char[]>> slabs_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace weir
