#pragma once

// What finished jobs taught, kept by job, parameters and size. Pure.
// Upstream: Master (journal, ends of jobs). Downstream: planning.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/btree_map.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// Remembers the last record of each kind of job.
///
/// Similar is: the same job with the same parameters, on as many workers, on an input at most
/// kSimilarSize times as large or as small; of several the nearest in size. (As many workers,
/// because those on one host share its cores.)
/// Bounds: kKindsMax kinds; the one that was heard of longest ago goes first.
/// Thread-safety: control strand only. Checked by: tests/unit/master/learned_shape_test.cc.
class ShapeHistory {
 public:
  static constexpr double kSimilarSize = 4;
  static constexpr std::size_t kKindsMax = 500;

  void Take(const v1::JobShapeLearned& shape);
  /// Null when nothing similar is known.
  const v1::JobShapeLearned* Find(const v1::JobSpec& spec, std::int64_t input_bytes,
                                  std::int32_t num_workers) const;
  /// How much faster than its rate says a worker has been; 1 = as said, or not known.
  double SpeedOf(const std::string& worker) const;
  std::optional<double> channel_seconds_per_byte() const { return channel_seconds_per_byte_; }

 private:
  struct Kept {
    v1::JobShapeLearned shape;
    std::int64_t order = 0;
  };

  absl::btree_map<std::string, Kept> kinds_;
  absl::btree_map<std::string, double> speeds_;
  std::optional<double> channel_seconds_per_byte_;
  std::int64_t taken_ = 0;
};

}  // namespace weir::master
