#pragma once

// Which lines of the gRPC library are logged. Upstream: library_log. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "runtime/base/mono_time.h"

namespace weir::rpc {

/// Lets each text through once in each stretch of time, a few texts at most, and counts the others:
/// whoever reaches a port has gRPC write a line with each connection that is none of ours, and may
/// choose what stands in it.
///
/// Thread-safety: one caller at a time. Time: passed in.
/// Bounds: kTextsMax texts. Checked by: tests/unit/rpc/library_lines_test.cc.
class LibraryLines {
 public:
  static constexpr absl::Duration kStretch = absl::Minutes(1);
  static constexpr std::size_t kTextsMax = 10;

  /// Returns how many lines were left out since the last one, or nothing when this one is to be
  /// left out as well.
  std::optional<std::int64_t> Admit(std::string_view text, MonoTime now) {
    if (!begin_ || now - *begin_ >= kStretch) {
      begin_ = now;
      told_.clear();
    }
    if (told_.size() < kTextsMax && told_.insert(std::string(text)).second) {
      return std::exchange(num_left_out_, 0);
    }
    ++num_left_out_;
    return std::nullopt;
  }

 private:
  std::optional<MonoTime> begin_;  // of the stretch
  absl::btree_set<std::string> told_;
  std::int64_t num_left_out_ = 0;
};

}  // namespace weir::rpc
