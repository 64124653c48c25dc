#include "planner/explain/time_axis.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace weir::planner {
namespace {

struct TimeUnit {
  Seconds seconds;
  const char* name;
};

TimeUnit UnitFor(Seconds span_s) {
  if (span_s < 2e-3) return {1e-6, "us"};
  if (span_s < 2) return {1e-3, "ms"};
  if (span_s < 600) return {1, "s"};
  if (span_s < 4 * 3600) return {60, "min"};
  return {3600, "h"};
}

// Smallest 1, 2 or 5 times a power of ten that is not below `least`.
double RoundStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::vector<TimeTick> TimeTicks(Seconds span_s, int ticks_max) {
  const TimeUnit unit = UnitFor(span_s);
  const double step = RoundStep(span_s / unit.seconds / (ticks_max - 1));
  std::vector<TimeTick> ticks;
  for (int i = 0; i < ticks_max; ++i) {
    const double value = i * step;
    if (value * unit.seconds > span_s * (1 + 1e-9)) break;
    ticks.push_back(
        {value * unit.seconds, i == 0 ? "0" : absl::StrFormat("%.4g %s", value, unit.name)});
  }
  return ticks;
}

}  // namespace weir::planner
