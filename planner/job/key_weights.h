#pragma once

// How the bytes of a layer lie over its key space, and cuts of the key space by bytes.
// Upstream: sampling and history (runtime/master). Downstream: job_drafts.

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace weir::planner {

/// Shares of a layer's bytes by position in the unit interval of keys.
///
/// Model: bucket i holds shares[i] of the bytes between ends[i - 1] (0 for the first) and ends[i].
///   A bucket wider than kAtomWidth is taken as evenly filled; a narrower one as one key, which no
///   cut divides. Empty: all keys weigh the same.
struct KeyWeights {
  /// Width up to which a bucket is not divided.
  static constexpr double kAtomWidth = 1.0 / 16384;

  std::vector<double> ends;    // rising, last = 1
  std::vector<double> shares;  // as many, >= 0, together 1

  bool uniform() const { return ends.empty(); }
};

/// Upper key ends of the consumers of a layer, and the share of the bytes that each really gets.
struct KeyCuts {
  std::vector<double> ends;  // not falling, last = 1
  std::vector<double> shares;
};

/// Checks sizes, order and sum. Errors: kInvalidArgument naming what is wrong.
absl::Status CheckKeyWeights(const KeyWeights& weights);

/// Cuts the key space so that consumer k gets `fractions[k]` of the bytes, as far as keys can be
/// divided.
///
/// Model: where a key is heavier than a consumer's fraction, the largest ratio of share to fraction
///   is made as small as cuts in the order of the keys allow; among such cuts those are taken that
///   divide what is left in proportion.
/// Requires: weights passed CheckKeyWeights; fractions >= 0, together 1, not empty.
/// Thread-safety: pure. Time: O((buckets + consumers) * 60).
/// Checked by: tests/unit/planner_job/key_weights_test.cc.
KeyCuts CutKeys(const KeyWeights& weights, absl::Span<const double> fractions);

/// Returns the upper ends of parts of the keys [begin, end), the last = `end`: part k gets
/// `fractions[k]` of the bytes that lie there, as CutKeys cuts them. Keys that all weigh the same,
/// or nothing, are cut by length.
///
/// Requires: as CutKeys; 0 <= begin < end <= 1. Ends do not fall; where one key fills several parts
///   some are equal.
/// Checked by: tests/unit/planner_job/key_weights_test.cc.
std::vector<double> CutKeyRange(const KeyWeights& weights, double begin, double end,
                                absl::Span<const double> fractions);

/// Returns the share of the bytes below `key`.
double ShareBelow(const KeyWeights& weights, double key);

}  // namespace weir::planner
