#pragma once

// A part of an input file, mapped. Upstream: an open file. Downstream: input_file.h.

#include <cstddef>
#include <cstdint>

#include "jobs/engine/input/page_guard.h"

namespace weir {

/// Bytes of a file that have addresses.
struct MappedBytes {
  const char* data = nullptr;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;  // of data[0] in the file
};

/// The least part that is mapped: below it a copy is cheaper than the calls that map and unmap.
inline constexpr std::int64_t kMappedBytesMin = 4 << 20;
/// The least file that is mapped where somebody refers to it.
inline constexpr std::int64_t kReferencedBytesMin = 64 << 10;

/// Gives windows of a file where they lie in the page cache, without a copy. All of the part has
/// addresses, which cost nothing; in memory (and in the resident set) are the windows that are in
/// use, so that a record may lie across windows as it likes.
///
/// Only where that was measured to be better than read(): file systems of this machine that are
/// known by name, and parts of some size (ADR 0033).
///
/// Thread-safety: one thread at a time; what is kept may be looked at by any.
/// Bounds: kKeptBytes and one window in memory, and what is kept.
/// Checked by: tests/unit/jobs/mapped_input_test.cc.
class MappedPart {
 public:
  MappedPart() = default;
  ~MappedPart() { Close(); }
  MappedPart(const MappedPart&) = delete;
  MappedPart& operator=(const MappedPart&) = delete;

  /// Maps [begin, end) of the file; leaves the part closed where read() is better (of less than
  /// `bytes_min`, too), or mapping is refused. What cannot be had of it is full of `filler`
  /// (PageGuard).
  void Open(int fd, std::int64_t begin, std::int64_t end, char filler,
            std::int64_t bytes_min = kMappedBytesMin);
  /// The address of `position` of the file, with `bytes` bytes in memory; null where they cannot
  /// be had, or the part is closed: read() then says why. What lies before `position` is given up.
  /// Requires: a place in the part that is not before that of the last call.
  const char* Window(std::int64_t position, std::int64_t bytes);
  /// Whether windows from the next one on stay as long as this does.
  void Keep(bool keep) { keep_ = keep; }
  /// What has addresses; no bytes while the part is closed. Pages that were not in a window come
  /// when they are touched.
  MappedBytes mapped() const {
    if (closed_) return {};
    return {map_, static_cast<std::int64_t>(map_bytes_) - guard_bytes_, map_offset_};
  }
  /// Whether a page that was given turned out not to be there.
  bool is_broken() const { return guard_.is_broken(); }

 private:
  void Close();

  PageGuard guard_;
  char* map_ = nullptr;
  std::size_t map_bytes_ = 0;
  std::int64_t guard_bytes_ = 0;  // of them, behind what was asked for
  std::int64_t map_offset_ = 0;   // of map_[0] in the file
  std::int64_t given_up_ = 0;     // bytes of the map that need no giving up any more
  bool keep_ = false;
  bool closed_ = true;  // the map stays, because a block may still be looked at
};

}  // namespace weir
