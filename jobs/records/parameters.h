#pragma once

// Declares and reads the parameters that most jobs have: whole numbers, texts and numbers.
// Upstream: JobDefinitions. Downstream: CheckParameters, MakeProgram.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"

namespace weir {

/// Declares a whole number from `min` to `max`, which CheckParameters holds it to.
ParameterInfo IntegerParameter(std::string name, std::int64_t default_value, std::int64_t min,
                               std::int64_t max, std::string help);

/// Declares a text: one of `choices`, where there are any.
ParameterInfo TextParameter(std::string name, std::string default_value, std::string help,
                            std::vector<std::string> choices = {});

/// Returns the value of a parameter that IntegerParameter declared.
/// Requires: values passed CheckParameters.
std::int64_t IntegerOf(const ParameterValues& values, const std::string& name);

/// What numbers a parameter may be.
struct NumberRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  /// `min` itself is not among them.
  bool above_min = false;
};
inline constexpr NumberRange kAnyNumber;
inline constexpr NumberRange kFromZeroOn{0};
inline constexpr NumberRange kAboveZero{0, std::numeric_limits<double>::infinity(), true};

/// Returns the value of a parameter that TextParameter declared and that holds a decimal number
/// (ParseNumber). Requires: values passed CheckParameters.
/// Errors: kInvalidArgument naming parameter, value and range: "parameter 'rate' is '-1'; it must
/// be a number above 0". Checked by: tests/unit/jobs/records_test.cc.
absl::StatusOr<double> NumberOf(const ParameterValues& values, const std::string& name,
                                const NumberRange& range);

}  // namespace weir
