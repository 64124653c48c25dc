#include "planner/load/compute_function.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace weir::planner::load {
namespace {

// A measured slope may fall by this much, relative, before the curve counts as concave: timer noise
// in the last digit.
constexpr double kConvexityTolerance = 1e-9;
// Chords of a power: from this part of the largest load, each load so many times the one before.
constexpr double kSmallestLoad = 1e-6;
constexpr double kLoadStep = 1.0625;
constexpr double kLog2E = 1.4426950408889634;

}  // namespace

ComputeFunction ComputeFunction::Linear(double seconds_per_byte, Seconds startup_s) {
  ComputeFunction f;
  f.lines_ = {{seconds_per_byte, startup_s}};
  return f;
}

ComputeFunction ComputeFunction::Chords(double seconds_per_byte, Seconds startup_s,
                                        double load_bytes_max) {
  ComputeFunction f;
  f.lines_ = {{seconds_per_byte, startup_s}};
  const int num_chords = load_bytes_max >= 2 ? std::ilogb(load_bytes_max) : 0;
  for (int y = 1; y <= num_chords; ++y) {
    f.lines_.push_back(
        {seconds_per_byte * (y + 2), startup_s - seconds_per_byte * std::ldexp(1.0, y + 1)});
  }
  f.FindBreaks();
  return f;
}

ComputeFunction ComputeFunction::NLogN(double seconds_per_byte, Seconds startup_s) {
  ComputeFunction f;
  f.lines_ = {{0, startup_s}};
  f.nlogn_ = seconds_per_byte;
  return f;
}

ComputeFunction ComputeFunction::Growing(double seconds_per_byte, Seconds startup_s,
                                         const GrowthCurve& curve, double load_bytes_max) {
  ComputeFunction f;
  if (curve.exponent == 1) {
    f.lines_ = {{seconds_per_byte, startup_s}};
    // The rate of one byte, where log2 counts as 1.
    f.nlogn_ = curve.SecondsPerByteOf(1);
    return f;
  }
  double from = std::max(1.0, load_bytes_max) * kSmallestLoad;
  f.lines_ = {{seconds_per_byte + curve.SecondsPerByteOf(from), startup_s}};
  while (from < load_bytes_max) {
    const double to = from * kLoadStep;
    const double slope = (curve.SecondsOf(to) - curve.SecondsOf(from)) / (to - from);
    f.lines_.push_back(
        {seconds_per_byte + slope, startup_s + curve.SecondsOf(from) - slope * from});
    from = to;
  }
  f.FindBreaks();
  return f;
}

absl::StatusOr<ComputeFunction> ComputeFunction::Measured(absl::Span<const Sample> samples) {
  if (samples.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "measured compute curve has too few samples: ", samples.size(), "; legal: >= 2"));
  }
  ComputeFunction f;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& at = samples[i];
    if (!std::isfinite(at.load_bytes) || !std::isfinite(at.time_s) || at.load_bytes < 0 ||
        at.time_s < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("sample ", i, " of the measured compute curve is (", at.load_bytes, " B, ",
                       at.time_s, " s); legal: finite and >= 0"));
    }
    if (i == 0) continue;
    const Sample& before = samples[i - 1];
    const double step_bytes = at.load_bytes - before.load_bytes;
    const double step_s = at.time_s - before.time_s;
    if (!(step_bytes > 0) || step_s < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "samples ", i - 1, " and ", i, " of the measured compute curve step by ", step_bytes,
          " B and ", step_s, " s; legal: loads increase, times do not decrease"));
    }
    const double slope = step_s / step_bytes;
    if (!f.lines_.empty() && slope < f.lines_.back().slope * (1 - kConvexityTolerance)) {
      return absl::InvalidArgumentError(
          absl::StrCat("measured compute curve is concave at sample ", i - 1, ": slope falls from ",
                       f.lines_.back().slope, " to ", slope,
                       " s/B; legal: slopes that do not fall (take more or larger samples)"));
    }
    if (f.lines_.empty() || slope > f.lines_.back().slope) {
      f.lines_.push_back({slope, before.time_s - slope * before.load_bytes});
    }
  }
  // Prolonged to the left of the first sample the curve must not promise negative time.
  if (f.lines_.front().intercept < 0) f.lines_.insert(f.lines_.begin(), {0, 0});
  f.FindBreaks();
  return f;
}

double ComputeFunction::CurveValue(double load) const {
  if (nlogn_ == 0) return 0;
  const double bytes = unit_bytes_ * load;
  return nlogn_ * load * (bytes > 2 ? std::log2(bytes) : 1.0);
}

double ComputeFunction::CurveSlope(double load) const {
  if (nlogn_ == 0) return 0;
  const double bytes = unit_bytes_ * load;
  return nlogn_ * (bytes > 2 ? std::log2(bytes) + kLog2E : 1.0);
}

double ComputeFunction::Value(double load) const {
  double value = lines_[0].intercept + lines_[0].slope * load;
  for (const Line& line : lines_) value = std::max(value, line.intercept + line.slope * load);
  return value + CurveValue(load);
}

double ComputeFunction::Slope(double load) const { return Tangent(load).slope; }

ComputeFunction::Line ComputeFunction::Tangent(double load) const {
  Line best = lines_[0];
  double value = best.intercept + best.slope * load;
  for (const Line& line : lines_) {
    const double here = line.intercept + line.slope * load;
    if (here >= value) {
      value = here;
      best = line;
    }
  }
  const double slope = CurveSlope(load);
  return {best.slope + slope, best.intercept + CurveValue(load) - slope * load};
}

void ComputeFunction::FindBreaks() {
  breaks_.clear();
  for (std::size_t y = 0; y + 1 < lines_.size(); ++y) {
    breaks_.push_back((lines_[y].intercept - lines_[y + 1].intercept) /
                      (lines_[y + 1].slope - lines_[y].slope));
  }
}

double ComputeFunction::SolveLines(double weight, double rhs, std::size_t& line_hint) const {
  // The root on line y counts where it lies between the breaks of that line.
  while (true) {
    const double rate = lines_[line_hint].slope + weight;
    const double root = rate > 0 ? (rhs - lines_[line_hint].intercept) / rate
                                 : std::numeric_limits<double>::infinity();
    if (line_hint < breaks_.size() && root > breaks_[line_hint]) {
      // Rounding at a break must not send the search back and forth.
      const Line& next = lines_[line_hint + 1];
      const double next_root = (rhs - next.intercept) / (next.slope + weight);
      if (next_root <= breaks_[line_hint]) return breaks_[line_hint];
      ++line_hint;
    } else if (line_hint > 0 && root < breaks_[line_hint - 1]) {
      --line_hint;
    } else {
      return root;
    }
  }
}

double ComputeFunction::SolveLoad(double weight, double rhs, std::size_t& line_hint) const {
  if (nlogn_ == 0) return SolveLines(weight, rhs, line_hint);
  // Newton on a convex increasing function: the first step lands right of the root, the rest fall
  // onto it.
  double load = 1.0 / unit_bytes_;
  constexpr int kStepsMax = 60;
  for (int step = 0; step < kStepsMax; ++step) {
    const Line tangent = Tangent(load);
    const double next = (rhs - tangent.intercept) / (tangent.slope + weight);
    const bool done = std::abs(next - load) <= 1e-15 * std::abs(next);
    load = next;
    if (done) break;
  }
  return load;
}

double ComputeFunction::SlopeAt(double load, std::size_t line_hint) const {
  return nlogn_ == 0 ? lines_[line_hint].slope : Slope(load);
}

ComputeFunction ComputeFunction::Scaled(double unit_bytes, double unit_s) const {
  ComputeFunction f = *this;
  for (Line& line : f.lines_) {
    line.slope = line.slope * unit_bytes / unit_s;
    line.intercept /= unit_s;
  }
  f.FindBreaks();
  f.nlogn_ = nlogn_ * unit_bytes / unit_s;
  f.unit_bytes_ = unit_bytes_ * unit_bytes;
  return f;
}

ComputeFunction ComputeFunction::WithExtraSlope(double seconds_per_byte) const {
  ComputeFunction f = *this;
  for (Line& line : f.lines_) line.slope += seconds_per_byte;
  return f;
}

absl::Status ComputeFunction::Check() const {
  if (lines_.empty())
    return absl::InvalidArgumentError("compute function is empty; legal: at least one line");
  for (const Line& line : lines_) {
    if (!std::isfinite(line.slope) || !std::isfinite(line.intercept) || line.slope < 0) {
      return absl::InvalidArgumentError(absl::StrCat("compute rate is ", line.slope, " s/B with ",
                                                     line.intercept,
                                                     " s; legal: finite, rate > 0"));
    }
  }
  if (!std::isfinite(nlogn_) || nlogn_ < 0 || !(lines_.back().slope + nlogn_ > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("compute rate is ", lines_.back().slope + nlogn_,
                                                   " s/B; legal: finite and > 0"));
  }
  return absl::OkStatus();
}

}  // namespace weir::planner::load
