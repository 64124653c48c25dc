#pragma once

// Checks of the numbers that every tree builder takes.
// Upstream: builders of this folder, instance files. Downstream: absl::Status with field, value and
// legal range.

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace weir::planner::tree {

/// Checks that a count lies in [least, most]. Errors: kInvalidArgument naming field, value and
/// range.
absl::Status CheckCount(std::string_view field, std::int64_t value, std::int64_t least,
                        std::int64_t most);

/// Largest cost, as for the durations of a plan: sums of many stay finite.
inline constexpr double kCostMax = 1e100;

/// Checks that a cost lies in 0..kCostMax. Errors: kInvalidArgument naming field and value.
absl::Status CheckCost(std::string_view field, double value);

/// Checks every cost of a list, naming the position. Errors: kInvalidArgument.
absl::Status CheckCosts(std::string_view field, absl::Span<const double> values);

}  // namespace weir::planner::tree
