#pragma once

// Numbers as fields of text hold them. Upstream: CSV fields. Downstream: jobs that compute with
// them.

#include <string_view>

namespace weir {

/// Parses a decimal number, with an exponent or without, and an optional sign, and nothing around
/// it. False for anything else, and for what is not finite: NaN, infinities, numbers beyond the
/// range of double. Zero comes without a sign, and so does what is too small for double.
/// Checked by: tests/unit/jobs/records_test.cc.
bool ParseNumber(std::string_view text, double& number);

/// What is said of a field that ParseNumber does not take.
inline constexpr char kNotANumber[] = "is not a finite decimal number";

}  // namespace weir
