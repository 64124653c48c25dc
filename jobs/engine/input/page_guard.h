#pragma once

// Keeps a task alive that touches a page of a mapped file which cannot be had any more. Upstream:
// mapped_part.h.

#include <cstddef>

namespace weir {

/// Watches over one mapping. A page of it that is gone (the file was cut short) or cannot be read
/// (its disk failed) would end the process by SIGBUS; instead it becomes a page full of `filler`,
/// and is_broken() says so from then on. Code that looks for the end of a record finds one there.
///
/// SIGBUS for any other reason ends the process, or reaches who had asked for it before, as if this
/// were not there.
///
/// Thread-safety: Guard and Release by one thread; the pages may be touched by any.
/// Bounds: kGuardsMax at a time in a process.
/// Checked by: tests/unit/jobs/mapped_input_test.cc.
class PageGuard {
 public:
  static constexpr int kGuardsMax = 256;

  PageGuard() = default;
  ~PageGuard() { Release(); }
  PageGuard(const PageGuard&) = delete;
  PageGuard& operator=(const PageGuard&) = delete;

  /// Begins. Requires: whole pages, mapped until Release. False where it cannot be promised: no
  /// place is free, or code of others has taken SIGBUS since the first guard of the process.
  bool Guard(char* begin, std::size_t bytes, char filler);
  void Release();
  bool is_broken() const;

 private:
  int place_ = -1;
};

}  // namespace weir
