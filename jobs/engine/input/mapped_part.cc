#include "jobs/engine/input/mapped_part.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace weir {
namespace {

// Giving pages up takes a message to every core that the process runs on: seldom, then. But what is
// behind counts as memory of the task, for each of its slots.
constexpr std::int64_t kKeptBytes = 2 << 20;

// Disks of this machine and its memory. Files that a server or another process answers for may
// change or fail at any time: read() says so where it happens, a mapping page by page.
bool IsLocal(int fd) {
  constexpr std::array<long, 5> kLocal = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                          TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
  struct statfs file_system {};
  return ::fstatfs(fd, &file_system) == 0 &&
         std::find(kLocal.begin(), kLocal.end(), static_cast<long>(file_system.f_type)) !=
             kLocal.end();
}

}  // namespace

void MappedPart::Open(int fd, std::int64_t begin, std::int64_t end, char filler,
                      std::int64_t bytes_min) {
  if (end - begin < bytes_min || !IsLocal(fd)) return;
  const auto page = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  map_offset_ = begin / page * page;
  // One page more: whoever looks for the end of a record behind the part's end finds the filler
  // there, at the latest.
  map_bytes_ = static_cast<std::size_t>((end - map_offset_ + page - 1) / page * page + page);
  guard_bytes_ = static_cast<std::int64_t>(map_bytes_) - (end - map_offset_);
  void* const map = ::mmap(nullptr, map_bytes_, PROT_READ, MAP_PRIVATE, fd, map_offset_);
  if (map == MAP_FAILED) return;
  map_ = static_cast<char*>(map);
  closed_ = !guard_.Guard(map_, map_bytes_, filler);
}

const char* MappedPart::Window(std::int64_t position, std::int64_t bytes) {
  if (closed_) return nullptr;
  const auto page = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  const std::int64_t from = position - map_offset_;
  const std::int64_t first = from / page * page;
  if (keep_) {
    given_up_ = first;
  } else if (first - given_up_ >= kKeptBytes) {
    ::madvise(map_ + given_up_, static_cast<std::size_t>(first - given_up_), MADV_DONTNEED);
    given_up_ = first;
  }
  int failed = 0;
  do {
    failed =
        ::madvise(map_ + first, static_cast<std::size_t>(from + bytes - first), MADV_POPULATE_READ);
  } while (failed != 0 && errno == EINTR);
  closed_ = failed != 0;
  return closed_ ? nullptr : map_ + from;
}

void MappedPart::Close() {
  guard_.Release();
  if (map_ != nullptr) ::munmap(map_, map_bytes_);
  map_ = nullptr;
  closed_ = true;
}

}  // namespace weir
