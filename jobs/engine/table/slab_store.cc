#include "jobs/engine/table/slab_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace weir {
namespace {

// Addresses without memory, at a multiple of the unit.
char* MapUnits(std::size_t bytes) {
  const std::size_t room = bytes + SlabStore::kUnitBytes;
  void* const mapped = ::mmap(nullptr, room, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const begin = static_cast<char*>(mapped);
  const std::size_t before = SlabStore::RoundUp(reinterpret_cast<std::uintptr_t>(begin)) -
                             reinterpret_cast<std::uintptr_t>(begin);
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + bytes, room - before - bytes);
  // Advice only: without huge pages it is slower, not wrong.
  ::madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}

}  // namespace

SlabStore::~SlabStore() {
  for (const auto& [data, bytes] : kept_) ::munmap(data, bytes);
  if (fresh_bytes_ > 0) ::munmap(fresh_, fresh_bytes_);
}

SlabStore::Slab SlabStore::Take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (char* const kept = TakeKept(bytes)) return {kept, false};
  return {TakeFresh(bytes), true};
}

void SlabStore::Return(char* data, std::size_t bytes) {
  // Advice only, and what is written to again before the kernel needs it stays.
  ::madvise(data, bytes, MADV_FREE);
  const std::lock_guard lock(mutex_);
  kept_bytes_ += bytes;
  const auto behind = kept_.lower_bound(data);
  if (behind != kept_.end() && data + bytes == behind->first) {
    bytes += behind->second;
    kept_.erase(behind);
  }
  const auto at = kept_.emplace(data, bytes).first;
  if (at == kept_.begin()) return;
  const auto before = std::prev(at);
  if (before->first + before->second != data) return;
  before->second += bytes;
  kept_.erase(at);
}

std::int64_t SlabStore::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(kept_bytes_);
}

// Of the smallest piece that is large enough: large ones stay for who needs them.
char* SlabStore::TakeKept(std::size_t bytes) {
  auto best = kept_.end();
  for (auto at = kept_.begin(); at != kept_.end(); ++at) {
    if (at->second < bytes) continue;
    if (best == kept_.end() || at->second < best->second) best = at;
  }
  if (best == kept_.end()) return nullptr;
  const auto [data, room] = *best;
  kept_.erase(best);
  if (room > bytes) kept_.emplace(data + bytes, room - bytes);
  kept_bytes_ -= bytes;
  return data;
}

char* SlabStore::TakeFresh(std::size_t bytes) {
  // What is kept in pieces too small would be held beside it.
  GiveUpKept(bytes);
  if (fresh_bytes_ < bytes) {
    char* const mapped = MapUnits(std::max(bytes, kFreshBytes));
    if (fresh_bytes_ > 0) ::munmap(fresh_, fresh_bytes_);
    fresh_ = mapped;
    fresh_bytes_ = std::max(bytes, kFreshBytes);
  }
  char* const data = fresh_;
  fresh_ += bytes;
  fresh_bytes_ -= bytes;
  return data;
}

void SlabStore::GiveUpKept(std::size_t bytes) {
  while (bytes > 0 && !kept_.empty()) {
    const auto last = std::prev(kept_.end());
    const std::size_t part = std::min(bytes, last->second);
    last->second -= part;
    ::munmap(last->first + last->second, part);
    if (last->second == 0) kept_.erase(last);
    kept_bytes_ -= part;
    bytes -= part;
  }
}

}  // namespace weir
