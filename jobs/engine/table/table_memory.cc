#include "jobs/engine/table/table_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace weir {
namespace {

constexpr std::size_t kHugePageBytes = 2 << 20;
// Small jobs touch one small slab; from the second on there is enough to fill huge pages.
constexpr std::size_t kFirstSlabBytes = 256 << 10;
constexpr std::size_t kSlabBytes = 8 << 20;
constexpr std::size_t kCacheLineBytes = 64;

std::size_t RoundUp(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::align_val_t AlignmentOf(std::size_t slab_bytes) {
  return std::align_val_t{slab_bytes >= kHugePageBytes ? kHugePageBytes : kCacheLineBytes};
}

}  // namespace

TableMemory::~TableMemory() {
  for (const Slab& slab : slabs_) ::operator delete(slab.data, AlignmentOf(slab.bytes));
}

void* TableMemory::Take(int log2_entries) {
  const std::size_t bytes = RoundUp(entry_bytes_ << log2_entries, kCacheLineBytes);
  void* array = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::vector<void*>& returned = returned_[static_cast<std::size_t>(log2_entries)];
    if (returned.empty()) {
      array = Cut(bytes);
    } else {
      array = returned.back();
      returned.pop_back();
    }
  }
  std::memset(array, 0, bytes);
  return array;
}

void TableMemory::Return(void* array, int log2_entries) {
  const std::lock_guard lock(mutex_);
  returned_[static_cast<std::size_t>(log2_entries)].push_back(array);
}

std::int64_t TableMemory::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

char* TableMemory::Cut(std::size_t bytes) {
  if (slabs_.empty() || slab_used_bytes_ + bytes > slabs_.back().bytes) {
    std::size_t slab_bytes = slabs_.empty() ? kFirstSlabBytes : kSlabBytes;
    if (bytes > slab_bytes) slab_bytes = RoundUp(bytes, kHugePageBytes);
    char* data = static_cast<char*>(::operator new(slab_bytes, AlignmentOf(slab_bytes)));
    // Advice only: without huge pages the table is slower, not wrong.
    if (slab_bytes >= kHugePageBytes) ::madvise(data, slab_bytes, MADV_HUGEPAGE);
    slabs_.push_back({data, slab_bytes});
    slab_used_bytes_ = 0;
    bytes_ += static_cast<std::int64_t>(slab_bytes);
  }
  char* cut = slabs_.back().data + slab_used_bytes_;
  slab_used_bytes_ += bytes;
  return cut;
}

}  // namespace weir
