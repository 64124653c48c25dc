#pragma once

// What a process leaves behind that is killed. Upstream: embedded runs. Downstream: a process of
// its own.

#include <sys/types.h>

#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "runtime/base/fd.h"
#include "runtime/env/real/posix_storage.h"

namespace weir::app {

/// A small process that removes directories when this one has ended without doing so itself: by
/// SIGKILL, or by a crash. It does nothing else, and holds nothing but its end of a line.
///
/// Requires: made before any thread. Thread-safety: all methods.
/// Failure semantics: where no process can be made nobody sweeps; the next run of the same kind
///   finds work directories of the dead by their locks.
class Sweeper {
 public:
  Sweeper();
  ~Sweeper();
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;

  /// Has an absolute path removed, with all that is in it, once this process is gone.
  void Watch(const std::string& path) { Tell('+', path); }
  /// Call before the path may become somebody else's.
  void Forget(const std::string& path) { Tell('-', path); }

 private:
  void Tell(char what, const std::string& path);

  std::mutex mutex_;
  Fd line_;  // guarded by mutex_
  pid_t pid_ = -1;
};

/// Files of an embedded run: staging directories are watched by the sweeper from their making until
/// they are removed, or get the name of an output.
class SweptStorage final : public env::PosixStorage {
 public:
  explicit SweptStorage(Sweeper& sweeper) : sweeper_(sweeper) {}
  absl::Status MakeDirectory(const std::string& path) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Exchange(const std::string& a, const std::string& b) override;

 private:
  Sweeper& sweeper_;
};

}  // namespace weir::app
