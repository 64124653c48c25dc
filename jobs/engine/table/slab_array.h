#pragma once

// An array of plain entries in the memory of a task. Upstream: slab_store.h. Downstream:
// group_buffer.h, combine_layer.h.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "jobs/engine/table/slab_store.h"

namespace weir {

/// Room for entries that nobody has set yet; small arrays lie on the heap.
///
/// Ownership: gives the memory back when it goes; the store outlives it.
template <typename T>
class SlabArray {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  SlabArray() = default;
  SlabArray(SlabStore& slabs, std::size_t size) {
    if (size * sizeof(T) < SlabStore::kUnitBytes) {
      small_ = std::make_unique_for_overwrite<T[]>(size);
      data_ = small_.get();
      return;
    }
    slabs_ = &slabs;
    bytes_ = SlabStore::RoundUp(size * sizeof(T));
    data_ = reinterpret_cast<T*>(slabs.Take(bytes_).data);
  }
  ~SlabArray() { reset(); }
  SlabArray(SlabArray&& other) noexcept { *this = std::move(other); }
  SlabArray& operator=(SlabArray&& other) noexcept {
    if (this == &other) return *this;
    reset();
    slabs_ = std::exchange(other.slabs_, nullptr);
    small_ = std::move(other.small_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  T* get() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

  void reset() {
    if (slabs_ != nullptr) slabs_->Return(reinterpret_cast<char*>(data_), bytes_);
    slabs_ = nullptr;
    small_ = nullptr;
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  SlabStore* slabs_ = nullptr;  // of a large one
  std::unique_ptr<T[]> small_;
  T* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weir
