#include "runtime/master/learning/reduce_points.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace weir::master {
namespace {

using planner::load::GrowthCurve;

// Deviations of logarithms of time, root of the mean square: x log x has one parameter less than a
// power, so it may be that much further off and still be the one that is meant.
constexpr double kAboutAsGood = 0.02;

struct Point {
  double bytes = 0;
  double seconds_per_byte = 0;
};

std::vector<Point> PointsOf(const v1::JobShapeLearned::Layer& learned) {
  std::vector<Point> points;
  for (const auto& point : learned.reduce_points()) {
    // Written by another program, or by hand.
    const bool good = point.bytes() >= 1 && std::isfinite(point.bytes()) &&
                      point.seconds_per_byte() > 0 && std::isfinite(point.seconds_per_byte());
    if (good) points.push_back({point.bytes(), point.seconds_per_byte()});
  }
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
  return points;
}

/// c of the curve that is at the points on average, and how far off they are.
double Fit(const std::vector<Point>& points, GrowthCurve& curve) {
  curve.at_bytes = points.back().bytes;
  curve.seconds_per_byte = 1;
  const auto num_points = static_cast<double>(points.size());
  double sum = 0;
  double squares = 0;
  for (const Point& point : points) {
    const double off = std::log(point.seconds_per_byte / curve.SecondsPerByteOf(point.bytes));
    sum += off;
    squares += off * off;
  }
  const double mean = sum / num_points;
  curve.seconds_per_byte = std::exp(mean);
  return std::sqrt(std::max(0.0, squares / num_points - mean * mean));
}

double ExponentOf(const std::vector<Point>& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const Point& point : points) {
    const double log_bytes = std::log(point.bytes);
    const double log_rate = std::log(point.seconds_per_byte);
    x += log_bytes;
    y += log_rate;
    xx += log_bytes * log_bytes;
    xy += log_bytes * log_rate;
  }
  const auto n = static_cast<double>(points.size());
  return 1 + (n * xy - x * y) / (n * xx - x * x);
}

}  // namespace

void LearnReducePoint(const v1::JobShapeLearned::Layer* before, double bytes,
                      double seconds_per_byte, v1::JobShapeLearned::Layer& layer) {
  std::map<int, Point> points;  // by power of two
  if (before != nullptr) {
    for (const Point& point : PointsOf(*before)) points[std::ilogb(point.bytes)] = point;
  }
  if (bytes >= 1 && seconds_per_byte > 0) {
    const auto [at, is_new] = points.try_emplace(std::ilogb(bytes), Point{bytes, seconds_per_byte});
    if (!is_new) {
      Point& known = at->second;
      known = {(known.bytes + bytes) / 2, (known.seconds_per_byte + seconds_per_byte) / 2};
    }
  }
  while (points.size() > kReducePointsMax) points.erase(points.begin());
  for (const auto& [power, point] : points) {
    v1::JobShapeLearned::ReducePoint& learned = *layer.add_reduce_points();
    learned.set_bytes(point.bytes);
    learned.set_seconds_per_byte(point.seconds_per_byte);
  }
}

std::optional<GrowthCurve> FitReduceGrowth(const v1::JobShapeLearned::Layer& learned) {
  const std::vector<Point> points = PointsOf(learned);
  if (points.size() < 3 || points.back().bytes < kSizesApart * points.front().bytes) {
    return std::nullopt;
  }
  GrowthCurve power{.exponent = std::min(ExponentOf(points), GrowthCurve::kExponentMax)};
  const double apart = std::log(points.back().bytes / points.front().bytes);
  const double rise = (power.exponent - 1) * apart;
  if (!(rise >= std::log(kGrowthTelling))) return std::nullopt;
  const double power_off = Fit(points, power);
  GrowthCurve sorting{.exponent = 1};
  const double sorting_off = Fit(points, sorting);
  const bool sorts = sorting_off <= power_off + kAboutAsGood;
  if (2 * (sorts ? sorting_off : power_off) > rise) return std::nullopt;
  return sorts ? sorting : power;
}

}  // namespace weir::master
