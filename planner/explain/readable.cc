#include "planner/explain/readable.h"

#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weir::planner {
namespace {

// Three significant digits of a value that prints as below 1000.
std::string ThreeDigits(double value) {
  if (value >= 99.95) return absl::StrFormat("%.0f", value);
  if (value >= 9.995) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.2f", value);
}

}  // namespace

std::string ReadableSeconds(Seconds seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 0) return absl::StrCat("-", ReadableSeconds(-seconds));
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-3) return absl::StrCat(ThreeDigits(seconds * 1e6), " us");
  if (seconds < 0.9995) return absl::StrCat(ThreeDigits(seconds * 1e3), " ms");
  if (seconds < 119.5) return absl::StrCat(ThreeDigits(seconds), " s");
  if (seconds >= 1e9) return absl::StrFormat("%.3g s", seconds);
  const long long whole_s = std::llround(seconds);
  if (whole_s < 7200) return absl::StrFormat("%d min %02d s", whole_s / 60, whole_s % 60);
  const long long whole_min = std::llround(seconds / 60);
  return absl::StrFormat("%d h %02d min", whole_min / 60, whole_min % 60);
}

std::string ReadableBytes(double bytes) {
  constexpr std::array<const char*, 7> kUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 0) return absl::StrCat("-", ReadableBytes(-bytes));
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  if (unit == 0) return absl::StrFormat("%.0f B", bytes);
  return absl::StrCat(ThreeDigits(bytes), " ", kUnits[unit]);
}

std::string ReadablePercent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

std::string ReadableBound(Seconds lower_bound, std::optional<Seconds> actual) {
  return absl::StrCat(ReadableSeconds(lower_bound), " at the plan's rates",
                      actual && *actual < lower_bound ? ", which were too low" : "");
}

}  // namespace weir::planner
