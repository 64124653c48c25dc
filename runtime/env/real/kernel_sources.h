#pragma once

// Entropy, wall-clock time and processor time of the kernel.

#include "runtime/env/event_loop.h"

namespace weir::env {

/// Draws from getrandom. Thread-safe.
class KernelRandom final : public Random {
 public:
  std::uint64_t Next() override;
};

/// Reads CLOCK_REALTIME. Thread-safe.
class KernelWallClock final : public WallClock {
 public:
  std::int64_t UnixMillis() const override;
};

/// Processor time that the calling thread has used.
MonoTime ThreadCpuTime();

}  // namespace weir::env
