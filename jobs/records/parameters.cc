#include "jobs/records/parameters.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jobs/records/number.h"

namespace weir {
namespace {

// " from 0 on", " above 0", " from 0 to 1"; nothing for any number.
std::string Bounds(const NumberRange& range) {
  std::string text;
  if (std::isfinite(range.min))
    absl::StrAppend(&text, range.above_min ? " above " : " from ", range.min);
  if (std::isfinite(range.max)) {
    absl::StrAppend(&text, " to ", range.max);
  } else if (std::isfinite(range.min) && !range.above_min) {
    text += " on";
  }
  return text;
}

}  // namespace

ParameterInfo IntegerParameter(std::string name, std::int64_t default_value, std::int64_t min,
                               std::int64_t max, std::string help) {
  ParameterInfo parameter;
  parameter.name = std::move(name);
  parameter.type = ParameterInfo::Type::kInteger;
  parameter.default_value = absl::StrCat(default_value);
  parameter.min = min;
  parameter.max = max;
  parameter.help = std::move(help);
  return parameter;
}

ParameterInfo TextParameter(std::string name, std::string default_value, std::string help,
                            std::vector<std::string> choices) {
  ParameterInfo parameter;
  parameter.name = std::move(name);
  parameter.default_value = std::move(default_value);
  parameter.choices = std::move(choices);
  parameter.help = std::move(help);
  return parameter;
}

std::int64_t IntegerOf(const ParameterValues& values, const std::string& name) {
  std::int64_t value = 0;
  (void)absl::SimpleAtoi(values.at(name), &value);  // CheckParameters has seen it
  return value;
}

absl::StatusOr<double> NumberOf(const ParameterValues& values, const std::string& name,
                                const NumberRange& range) {
  double number = 0;
  if (ParseNumber(values.at(name), number) && number <= range.max &&
      (range.above_min ? number > range.min : number >= range.min)) {
    return number;
  }
  return absl::InvalidArgumentError(absl::StrCat("parameter '", name, "' is '", values.at(name),
                                                 "'; it must be a number", Bounds(range)));
}

}  // namespace weir
