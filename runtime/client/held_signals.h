#pragma once

// Ctrl-C while something must be put in order first. Upstream: commands. Downstream: the kernel.

#include <signal.h>

namespace weir::client {

/// Holds back SIGINT, SIGTERM and SIGHUP while it lives; those that came meanwhile take effect when
/// it ends, which by default is the end of the process. Thread-safety: for commands that run on one
/// thread. Whoever holds one looks at AnyCame() often.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  bool AnyCame() const;

 private:
  sigset_t held_;
  sigset_t before_;
};

}  // namespace weir::client
