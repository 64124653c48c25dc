#include "runtime/env/real/kernel_sources.h"

#include <sys/random.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>

namespace weir::env {

std::uint64_t KernelRandom::Next() {
  std::uint64_t value = 0;
  // Eight bytes come whole or not at all; without entropy ids could repeat, so nothing may go on.
  while (getrandom(&value, sizeof(value), 0) != sizeof(value)) {
    if (errno != EINTR) std::abort();
  }
  return value;
}

std::int64_t KernelWallClock::UnixMillis() const {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

MonoTime ThreadCpuTime() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return MonoTime::FromNanos(std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec);
}

}  // namespace weir::env
