#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace weir {

/// A moment on a clock that never goes backwards, for leases, deadlines and durations; its zero has
/// no meaning across processes. Wall-clock time is only for logs and records.
class MonoTime {
 public:
  constexpr MonoTime() = default;
  static constexpr MonoTime FromNanos(std::int64_t nanos) { return MonoTime(nanos); }
  constexpr std::int64_t nanos() const { return nanos_; }

  friend constexpr bool operator==(MonoTime a, MonoTime b) { return a.nanos_ == b.nanos_; }
  friend constexpr auto operator<=>(MonoTime a, MonoTime b) { return a.nanos_ <=> b.nanos_; }
  friend MonoTime operator+(MonoTime t, absl::Duration d) {
    return MonoTime(t.nanos_ + absl::ToInt64Nanoseconds(d));
  }
  friend absl::Duration operator-(MonoTime a, MonoTime b) {
    return absl::Nanoseconds(a.nanos_ - b.nanos_);
  }

 private:
  explicit constexpr MonoTime(std::int64_t nanos) : nanos_(nanos) {}
  std::int64_t nanos_ = 0;
};

}  // namespace weir
