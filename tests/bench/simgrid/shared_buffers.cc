// Arrays of 64 KiB and more share one piece of memory. SMPI carries out MPI programs for real, with
// the buffers of all ranks in one process: 4 096 ranks with 16 MB each, and as much again for what
// the algorithms keep aside, would be 128 GB. What the buffers hold means nothing here, only their
// sizes do. Upstream: mpi_collective and SimGrid's library, whose new[] this is.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <unordered_map>

namespace {

constexpr std::size_t kSharedFrom = std::size_t{1} << 16;

/// The one piece of memory, and what is mapped onto it. One thread: the simulator has no other.
struct SharedMemory {
  int file = memfd_create("buffers", 0);
  std::size_t size = 0;
  std::unordered_map<void*, std::size_t> mapped;
};

SharedMemory& Shared() {
  static auto* const shared = new SharedMemory;
  return *shared;
}

void* MapShared(std::size_t size) {
  SharedMemory& shared = Shared();
  if (size > shared.size) {
    if (ftruncate(shared.file, static_cast<off_t>(size)) != 0) throw std::bad_alloc();
    shared.size = size;
  }
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, shared.file, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared.mapped.emplace(memory, size);
  return memory;
}

}  // namespace

void* operator new[](std::size_t size) {
  if (size >= kSharedFrom) return MapShared(size);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete[](void* memory) noexcept {
  SharedMemory& shared = Shared();
  if (const auto at = shared.mapped.find(memory); at != shared.mapped.end()) {
    munmap(memory, at->second);
    shared.mapped.erase(at);
    return;
  }
  std::free(memory);
}

void operator delete[](void* memory, std::size_t) noexcept { operator delete[](memory); }
