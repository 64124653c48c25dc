#pragma once

// What finished jobs taught, kept by job, parameters, size and kind of data. Pure.
// Upstream: Master (journal, ends of jobs). Downstream: planning.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "runtime/master/learning/data_seen.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// Remembers the last record of each kind of job and, of that, of each kind of data.
///
/// Similar is: the same job with the same parameters, on as many workers, on an input at most
/// kSimilarSize times as large or as small. (As many workers, because those on one host share its
/// cores.) Of several the one of the nearest data, then the nearest in size, then the last heard
/// of. So data that was met before goes by its own history whatever the job met meanwhile, and of
/// data that nothing is like, the last run is the one to ask (CountsUnsampled).
/// Bounds: kDataKindsMax kinds of data of a kind of job, kKindsMax records in all; the one that was
/// heard of longest ago goes first.
/// Thread-safety: control strand only. Checked by: tests/unit/master/shape_history_test.cc.
class ShapeHistory {
 public:
  static constexpr double kSimilarSize = 4;
  static constexpr std::size_t kKindsMax = 500;
  static constexpr std::size_t kDataKindsMax = 8;

  void Take(const v1::JobShapeLearned& shape);
  /// The first of FindAll; null when nothing similar is known.
  const v1::JobShapeLearned* Find(const v1::JobSpec& spec, const InputSeen& input,
                                  std::int32_t num_workers) const;
  /// All that are similar, the one to go by first. What they point to stays until the next Take.
  std::vector<const v1::JobShapeLearned*> FindAll(const v1::JobSpec& spec, const InputSeen& input,
                                                  std::int32_t num_workers) const;
  /// All records, the one that was heard of longest ago first: whoever takes them in this order
  /// finds what is found here. What they point to stays until the next Take.
  std::vector<const v1::JobShapeLearned*> All() const;
  /// How much faster than its rate says a worker has been; 1 = as said, or not known.
  double SpeedOf(const std::string& worker) const;
  std::optional<double> channel_seconds_per_byte() const { return channel_seconds_per_byte_; }

 private:
  struct Kept {
    v1::JobShapeLearned shape;
    std::int64_t order = 0;
  };

  void DropOldest();

  // By kind of job; of each the kinds of data, the last heard of at the end. None is empty.
  absl::btree_map<std::string, std::vector<Kept>> kinds_;
  std::size_t num_kept_ = 0;
  absl::btree_map<std::string, double> speeds_;
  std::optional<double> channel_seconds_per_byte_;
  std::int64_t taken_ = 0;
};

}  // namespace weir::master
