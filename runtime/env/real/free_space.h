#pragma once

// What a file system says of its free space, as a number. Upstream: PosixStorage. Downstream:
// statvfs(3).

#include <sys/statvfs.h>

#include <cstdint>

namespace weir::env {

/// More than any disk has, and sums of a few do not overflow.
inline constexpr std::int64_t kFreeBytesMax = std::int64_t{1} << 62;

/// Returns the bytes that are free to this user, kFreeBytesMax at most: some file systems, as over
/// stores of objects, say that they have as many blocks as there are numbers for.
/// Thread-safety: pure.
/// Checked by: tests/unit/env/posix_storage_test.cc (AFileSystemWithoutEndHasRoom).
inline std::int64_t FreeBytesOf(const struct statvfs& fs) {
  const std::uint64_t blocks = fs.f_bavail;
  const std::uint64_t block_bytes = fs.f_frsize;
  if (block_bytes > 0 && blocks > std::uint64_t{kFreeBytesMax} / block_bytes) return kFreeBytesMax;
  return static_cast<std::int64_t>(blocks * block_bytes);
}

}  // namespace weir::env
