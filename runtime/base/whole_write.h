#pragma once

// Bytes written whole, whatever part of them the system takes at a time. Upstream: whoever writes
// files by descriptor. Downstream: write(2) and its like.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

/// Calls `write` until all of `bytes` is written.
///
/// `write(left, done)` begins at byte `done` of `bytes`, where `left` begins, and answers as
/// write(2) does: how much it wrote, or -1 and errno.
/// Returns: 0, or the errno of the call that failed. EIO where a call wrote nothing of something
///   and said no reason: it would do so again, and errno is that of another call.
/// Thread-safety: as `write`. Blocking: as `write`.
/// Checked by: tests/unit/base/whole_write_test.cc.
template <typename Write>
int WriteWhole(std::string_view bytes, Write write) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::int64_t wrote = write(bytes.substr(done), static_cast<std::int64_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : EIO;
    done += static_cast<std::size_t>(wrote);
  }
  return 0;
}

}  // namespace weir
