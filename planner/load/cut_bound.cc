#include "planner/load/cut_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

namespace weir::planner::load {
namespace {

constexpr double kNewtonTolerance = 5e-13;
constexpr int kNewtonStepsMax = 100;
// The running sums of the quick test round by about this much, relative.
constexpr double kCutSlack = 1e-12;

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

/// One candidate q of the recursion at sender k.
struct Candidate {
  double pi = 0;
  double slope = 0;
};

Candidate MapperCandidate(const ScaledLayer& layer, double time, std::int32_t k, std::int32_t q,
                          double cut_share, double next_pi, double next_slope) {
  const double rate = layer.compute.lines()[0].slope;  // A
  const double intercept = layer.compute.lines()[0].intercept;
  const double per_load = 1.0 / (layer.send_all * cut_share + rate);
  const double start_sum = layer.startup * 0.5 * q * (2.0 * k + q - 1) + q * intercept;
  return {(q * time + rate * next_pi - start_sum) * per_load, (q + rate * next_slope) * per_load};
}

Candidate ReducerCandidate(const ScaledLayer& layer, double time, std::int32_t q, double cut_share,
                           double next_pi, double next_slope, std::size_t& line_hint) {
  const double weight = layer.send_all * cut_share;
  const double load = layer.compute.SolveLoad(weight, time - weight * next_pi / q, line_hint);
  const double rate = layer.compute.SlopeAt(load, line_hint);
  return {q * load + next_pi, q * (1 - weight * next_slope / q) / (rate + weight) + next_slope};
}

/// Largest sum of q of the values among each prefix, against the load that comes after it.
double WidestCutOfWidth(const ScaledLayer& layer, const std::vector<double>& value,
                        const std::vector<double>& load_from, std::int32_t q, double cut_share) {
  std::priority_queue<double, std::vector<double>, std::greater<>> largest;
  double sum = 0;
  double time = 0;
  for (std::int32_t k = 0; k < layer.n; ++k) {
    const double v = value[At(k)];
    if (static_cast<std::int32_t>(largest.size()) < q) {
      largest.push(v);
      sum += v;
    } else if (v > largest.top()) {
      sum += v - largest.top();
      largest.pop();
      largest.push(v);
    }
    if (static_cast<std::int32_t>(largest.size()) == q) {
      time = std::max(time, (cut_share * layer.send_all * load_from[At(k + 1)] + sum) / q);
    }
  }
  return time;
}

/// The cuts of senders k .. n for all k.
double SuffixCuts(const ScaledLayer& layer, const std::vector<double>& finish,
                  const std::vector<double>& load_from, const std::vector<double>& finish_from) {
  double time = 0;
  for (std::int32_t k = 0; k < layer.n; ++k) {
    const std::int32_t rest = layer.n - k;
    for (const std::int32_t q : layer.cut_widths) {
      if (q >= rest) break;
      const double sent = layer.send_all * layer.top_fractions[At(q)] * load_from[At(k)];
      time = std::max(time, (sent + finish_from[At(k)] - finish_from[At(k + q)]) / q);
    }
    if (rest <= layer.width) {
      time = std::max(time, (layer.send_all * load_from[At(k)] + finish_from[At(k)]) / rest);
    }
  }
  return std::max(time, finish.back());
}

/// The cuts of any set of senders. For a width q only the q sets with the largest t_j + D_q c x_j
/// among a prefix can bind. A running maximum bounds their sum from above in O(n); only widths
/// where that bound exceeds `time` are searched.
double AnySetCuts(const ScaledLayer& layer, const std::vector<double>& share,
                  const std::vector<double>& finish, const std::vector<double>& load_from,
                  double time) {
  std::vector<double> value(At(layer.n));
  std::vector<double> running_sum(At(layer.n) + 1, 0);
  for (const std::int32_t q : layer.cut_widths) {
    if (q > layer.n) break;
    const double cut_share = layer.top_fractions[At(q)];
    double running_max = -std::numeric_limits<double>::infinity();
    double above = 0;
    for (std::int32_t k = 0; k < layer.n; ++k) {
      value[At(k)] = finish[At(k)] + cut_share * layer.send_all * share[At(k)];
      running_max = std::max(running_max, value[At(k)]);
      running_sum[At(k + 1)] = running_sum[At(k)] + running_max;
      if (k + 1 < q) continue;
      const double sum = running_sum[At(k + 1)] - running_sum[At(k + 1 - q)];
      above = std::max(above, (cut_share * layer.send_all * load_from[At(k + 1)] + sum) / q);
    }
    if (above > time * (1 + kCutSlack))
      time = std::max(time, WidestCutOfWidth(layer, value, load_from, q, cut_share));
  }
  return time;
}

}  // namespace

CutRecursion EvaluateCuts(const ScaledLayer& layer, double time) {
  const std::int32_t n = layer.n;
  CutRecursion result;
  result.pi.assign(At(n) + 1, 0);
  result.slope.assign(At(n) + 1, 0);
  result.chain.assign(At(n), 0);
  std::size_t line_hint = layer.compute.lines().size() / 2;
  for (std::int32_t k = n - 1; k >= 0; --k) {
    const std::int32_t rest = n - k;
    Candidate best{std::numeric_limits<double>::infinity(), 0};
    std::int32_t best_q = 0;
    const auto consider = [&](std::int32_t q, double cut_share) {
      const double next_pi = result.pi[At(k + q)];
      const double next_slope = result.slope[At(k + q)];
      const Candidate candidate =
          layer.kind == LayerKind::kMapper
              ? MapperCandidate(layer, time, k + 1, q, cut_share, next_pi, next_slope)
              : ReducerCandidate(layer, time, q, cut_share, next_pi, next_slope, line_hint);
      if (candidate.pi < best.pi) {
        best = candidate;
        best_q = q;
      }
    };
    for (const std::int32_t q : layer.cut_widths) {
      if (q >= rest) break;
      consider(q, layer.top_fractions[At(q)]);
    }
    if (rest <= layer.width) consider(rest, 1.0);
    result.pi[At(k)] = best.pi;
    result.slope[At(k)] = best.slope;
    result.chain[At(k)] = best_q;
  }
  return result;
}

CutBound FindCutBound(const ScaledLayer& layer) {
  CutBound bound;
  bound.time = 1;
  // A tangent of a concave function lies above it: from the second point on, Newton climbs to the
  // root from the left.
  for (; bound.newton_steps < kNewtonStepsMax; ++bound.newton_steps) {
    bound.recursion = EvaluateCuts(layer, bound.time);
    const double next = bound.time + (1 - bound.recursion.pi[0]) / bound.recursion.slope[0];
    const bool done = std::abs(next - bound.time) <= kNewtonTolerance * std::abs(next);
    bound.time = next;
    if (done) break;
  }
  const double last_start = layer.kind == LayerKind::kMapper ? layer.FinishTime(layer.n - 1, 0) : 0;
  if (bound.time < last_start) {
    bound.time = last_start;
    bound.forced_by_startup = true;
  }
  bound.recursion = EvaluateCuts(layer, bound.time);
  return bound;
}

double CutMakespan(const ScaledLayer& layer, const std::vector<double>& share) {
  const std::int32_t n = layer.n;
  std::vector<double> finish(At(n));
  std::vector<double> load_from(At(n) + 1, 0);
  std::vector<double> finish_from(At(n) + 1, 0);
  double time = 0;
  for (std::int32_t k = n - 1; k >= 0; --k) {
    finish[At(k)] = layer.FinishTime(k, share[At(k)]);
    load_from[At(k)] = load_from[At(k + 1)] + share[At(k)];
    finish_from[At(k)] = finish_from[At(k + 1)] + finish[At(k)];
    time = std::max(time, finish[At(k)] + layer.send_all * share[At(k)]);
  }
  time = std::max(time, SuffixCuts(layer, finish, load_from, finish_from));
  if (layer.kind == LayerKind::kReducer) return time;
  return AnySetCuts(layer, share, finish, load_from, time);
}

}  // namespace weir::planner::load
