#pragma once

// How often a line that anybody can provoke is logged. Pure.

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "runtime/base/mono_time.h"

namespace weir {

/// Lets one line through in each stretch of time, and counts the others.
///
/// Thread-safety: one strand. Time: passed in. Checked by: tests/unit/base/log_rate_test.cc.
class LogRate {
 public:
  explicit LogRate(absl::Duration every) : every_(every) {}

  /// Returns how many lines were left out since the last one, or nothing when this one is to be
  /// left out as well.
  std::optional<std::int64_t> Admit(MonoTime now) {
    if (last_ && now - *last_ < every_) {
      ++num_left_out_;
      return std::nullopt;
    }
    last_ = now;
    const std::int64_t left_out = num_left_out_;
    num_left_out_ = 0;
    return left_out;
  }

 private:
  const absl::Duration every_;
  std::optional<MonoTime> last_;
  std::int64_t num_left_out_ = 0;
};

}  // namespace weir
