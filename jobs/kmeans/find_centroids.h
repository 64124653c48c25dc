#pragma once

// What an iteration of k-means does with points, sums and centroids. Upstream: kmeans.cc.
// Downstream: jobs/engine/loop_program.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jobs/api/readers.h"
#include "jobs/engine/loop_program.h"

namespace weir::kmeans {

/// Parameters of a run.
struct Options {
  std::int64_t clusters = 8;    // k
  std::int64_t dimensions = 2;  // numbers in a row
  std::uint64_t seed = 1;
  /// A loop ends when no centroid moves further than this. >= 0.
  double tolerance = 0;
};

/// Points of one slot, one after the other.
struct Points {
  std::vector<double> values;
  std::int64_t memory_bytes() const {
    return static_cast<std::int64_t>(values.capacity() * sizeof(double));
  }
};

/// Returns what is wrong with a row for `dimensions` numbers, or appends them to `values`.
std::string ParseRow(const CsvRow& row, std::int64_t dimensions, std::vector<double>& values);

/// Returns a point's place in the order from which seeds are taken: 1 .. 2^52, the same for equal
/// points. Requires: finite values.
double SeedOrder(absl::Span<const double> point, std::uint64_t seed);

/// Lloyd's algorithm.
///
/// Iteration 0 takes as centroids the k distinct points that come first in SeedOrder, so that they
/// depend on the points and the seed, not on how the input is cut. Every later one assigns each
/// point to its nearest centroid (of equally near ones the first) and moves each centroid to the
/// mean of its points; one without points stays.
/// Element: number of points, inertia (sum of squared distances), then k rows of 1 + d values: in
///   iteration 0 order and point of a candidate (order 0: none), later number and sum of the
///   points.
/// State: inertia of the points to the centroids before, number of points, then k rows of 1 + d:
///   number of points assigned, centroid.
/// Errors: kInvalidArgument when there is no point, or fewer distinct ones than k, or when the
///   inertia or a centroid is no finite number.
/// Thread-safety: all but Load are const.
/// Source: S. Lloyd, "Least squares quantization in PCM", IEEE Trans. Inf. Theory 28(2), 1982.
/// Checked by: tests/unit/jobs/kmeans_test.cc.
class FindCentroids {
 public:
  using Reader = CsvRows;
  using Place = double;
  using Resident = Points;
  static constexpr std::string_view kMeasure = "inertia";

  explicit FindCentroids(const Options& options) : options_(options) {}

  std::int64_t Places() const { return 2 + options_.clusters * row_places(); }
  std::int64_t StatePlaces() const { return Places(); }

  template <typename Emit>
  void Load(const CsvRow& row, Points& points, Emit& emit) {
    const std::string wrong = ParseRow(row, options_.dimensions, points.values);
    if (!wrong.empty()) emit.Reject(row.line, wrong);
  }
  void Map(int iteration, const Points& points, absl::Span<const double> state,
           absl::Span<double> element) const;
  void Combine(int iteration, absl::Span<double> into, absl::Span<const double> from) const;
  absl::StatusOr<LoopOutcome> Update(int iteration, absl::Span<const double> state,
                                     absl::Span<const double> element,
                                     absl::Span<double> next) const;
  /// A line a centroid: its number, its points, its coordinates; then "inertia" and its value.
  void Format(absl::Span<const double> state, std::string& out) const;

 private:
  std::int64_t row_places() const { return 1 + options_.dimensions; }
  // Row `cluster` of an element or a state.
  template <typename Value>
  absl::Span<Value> Row(absl::Span<Value> values, std::int64_t cluster) const {
    return values.subspan(static_cast<std::size_t>(2 + cluster * row_places()),
                          static_cast<std::size_t>(row_places()));
  }
  void TakeCandidate(double order, absl::Span<const double> point,
                     absl::Span<double> element) const;
  void FindCandidates(const Points& points, absl::Span<double> element) const;

  Options options_;
};

}  // namespace weir::kmeans
