#pragma once

// Closing a file that fails, as on network file systems that learn only then that a disk is full.

#include <string>

namespace weir::format {

/// While it lives, closing a descriptor that was opened for this path fails with `error_number`;
/// the descriptor is closed all the same, as Linux does. One at a time. A program that uses it has
/// another close than the C library's, which else does what that does.
class FailingClose {
 public:
  /// Requires: the folder of `path` is there.
  FailingClose(const std::string& path, int error_number);
  ~FailingClose();
  FailingClose(const FailingClose&) = delete;
  FailingClose& operator=(const FailingClose&) = delete;

  /// How many have failed.
  int count() const;
};

}  // namespace weir::format
