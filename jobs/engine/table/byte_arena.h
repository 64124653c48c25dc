#pragma once

// Bytes that stay where they are until all are dropped at once. Upstream: combine_table.h (long
// keys), group_buffer.h (records).

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

namespace weir {

/// Copies bytes into slabs that never move. Large ones lie on huge pages: most of the cost of a
/// fresh small page is that the kernel has to be asked.
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
  static constexpr std::size_t kSlabBytesMax = 8 << 20;
  static constexpr std::size_t kHugePageBytes = 2 << 20;

  struct FreeSlab {
    std::align_val_t alignment;
    void operator()(char* slab) const { ::operator delete(slab, alignment); }
  };

  void AddSlab(std::size_t bytes) {
    // A part of what there is, so that little is left unused.
    std::size_t slab_bytes = std::clamp<std::size_t>(static_cast<std::size_t>(bytes_) / 16,
                                                     kFirstSlabBytes, kSlabBytesMax);
    slab_bytes = std::max(bytes, slab_bytes);
    const bool huge = slab_bytes >= kHugePageBytes;
    if (huge) slab_bytes = (slab_bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    const std::align_val_t alignment{huge ? kHugePageBytes : __STDCPP_DEFAULT_NEW_ALIGNMENT__};
    slabs_.emplace_back(static_cast<char*>(::operator new(slab_bytes, alignment)),
                        FreeSlab{alignment});
    next_ = slabs_.back().get();
    // Advice only: without huge pages it is slower, not wrong.
    if (huge) ::madvise(next_, slab_bytes, MADV_HUGEPAGE);
    left_ = slab_bytes;
    bytes_ += static_cast<std::int64_t>(slab_bytes);
  }

  std::vector<std::unique_ptr<char, FreeSlab>> slabs_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace weir
