#pragma once

// What ps and /proc show of a process that was forked and not executed. Upstream: Zygote.
// Downstream: the memory that the kernel shows.

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace weir::worker {

/// The memory in which the kernel put the words and the environment of this process.
///
/// Nothing of it is read or written before Write. Thread-safety: none.
/// Checked by: tests/unit/worker/zygote_test.cc.
class ProcessTitle {
 public:
  /// Shows what it shows already: Write does nothing.
  ProcessTitle() = default;
  /// `words` and `environment`: as main got them, each with a null behind it, untouched since.
  ProcessTitle(char** words, char** environment);

  /// Replaces both, for /proc/PID/cmdline and /proc/PID/environ. Of each, what does not fit into
  /// the room of the old one is left out; nothing of the old one stays. Requires: nobody reads argv
  /// any more, and `environ` points to copies or to nothing.
  void Write(const std::vector<std::string>& words,
             const std::vector<std::string>& environment) const;

 private:
  absl::Span<char> words_;
  absl::Span<char> environment_;
};

}  // namespace weir::worker
