#pragma once

// The reducer and combiner `aggregate`: keys say themselves how their values are put together, as
// "LongValueSum:word". Upstream: groups of pairs. Downstream: output lines, or fewer pairs.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::stream {

/// Puts the values of one key together.
///
/// Thread-safety: one thread at a time.
/// Bounds: UniqValueCount and ValueHistogram hold every value that differs.
/// Checked by: tests/unit/jobs/stream/contract_test.cc.
class Aggregator {
 public:
  virtual ~Aggregator() = default;
  /// Errors: kInvalidArgument for a value that is no number, where one is asked for.
  virtual absl::Status Add(std::string_view value) = 0;
  /// What the reducer writes.
  virtual std::string Report() const = 0;
  /// Values that stand for all added so far.
  virtual std::vector<std::string> Combined() const = 0;
};

/// A key as "TYPE:name".
struct AggregateKey {
  std::string_view type;
  std::string_view name;
};

/// Errors: kInvalidArgument naming a key without ':'.
absl::StatusOr<AggregateKey> ReadAggregateKey(std::string_view key);

/// Makes the aggregator of a type: LongValueSum, LongValueMax, LongValueMin, DoubleValueSum,
/// StringValueMax, StringValueMin, UniqValueCount, ValueHistogram,
/// in letters of any case. Errors: kInvalidArgument naming the type and those that there are.
absl::StatusOr<std::unique_ptr<Aggregator>> MakeAggregator(std::string_view type);

/// A number as Java writes it: "2.0", "1.0E10".
std::string JavaDouble(double number);

}  // namespace weir::stream
