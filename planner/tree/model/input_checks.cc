#include "planner/tree/model/input_checks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir::planner::tree {

namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

absl::Status CheckCount(std::string_view field, std::int64_t value, std::int64_t least,
                        std::int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(View(field), " is ", value, "; it must lie in ", least, "..", most));
}

absl::Status CheckCost(std::string_view field, double value) {
  if (value >= 0 && value <= kCostMax) return absl::OkStatus();  // false for NaN
  return absl::InvalidArgumentError(
      absl::StrCat(View(field), " is ", value, "; it must be finite, not negative, at most 1e100"));
}

absl::Status CheckCosts(std::string_view field, absl::Span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name = absl::StrCat(View(field), "[", i, "]");
    if (absl::Status status = CheckCost(name, values[i]); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace weir::planner::tree
