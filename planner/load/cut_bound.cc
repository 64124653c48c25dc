#include "planner/load/cut_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "planner/plan/units.h"

namespace weir::planner::load {
namespace {

constexpr double kNewtonTolerance = 5e-13;
constexpr int kNewtonStepsMax = 100;
// The running sums of the quick test round by about this much, relative.
constexpr double kCutSlack = 1e-12;

/// The recursion's candidates for one sender after the other: what does not depend on the sender is
/// computed once.
class CandidateSweep {
 public:
  CandidateSweep(const ScaledLayer& layer, double time)
      : layer_(layer),
        time_(time),
        rate_(layer.compute.lines()[0].slope),
        intercept_(layer.compute.lines()[0].intercept),
        line_hint_(layer.compute.lines().size() / 2),
        inverse_(At(layer.width) + 1) {
    for (std::int32_t q = 1; q <= layer.width; ++q) {
      const double weight = layer.send_all * layer.top_fractions[At(q)];
      inverse_[At(q)] = layer.kind == LayerKind::kMapper ? 1.0 / (weight + rate_) : 1.0 / q;
    }
  }

  /// min_q over the cuts at sender k (zero-based); fills entry k of the recursion from the entries
  /// after it.
  void Step(std::int32_t k, CutRecursion& recursion) {
    const std::int32_t rest = layer_.n - k;
    double best = std::numeric_limits<double>::infinity();
    std::int32_t best_q = 0;
    const auto consider = [&](std::int32_t q, double pi) {
      if (pi >= best) return;
      best = pi;
      best_q = q;
    };
    const bool mapper = layer_.kind == LayerKind::kMapper;
    for (const std::int32_t q : layer_.cut_widths) {
      if (q >= rest) break;
      const double next = recursion.pi[At(k + q)];
      consider(q, mapper ? MapperLoad(k, q, inverse_[At(q)], next)
                         : ReducerLoad(q, layer_.top_fractions[At(q)], inverse_[At(q)], next));
    }
    if (rest <= layer_.width) {
      consider(rest, mapper ? MapperLoad(k, rest, 1.0 / (layer_.send_all + rate_), 0)
                            : ReducerLoad(rest, 1.0, inverse_[At(rest)], 0));
    }
    recursion.pi[At(k)] = best;
    recursion.chain[At(k)] = best_q;
    recursion.slope[At(k)] =
        Slope(rest, best_q, best, recursion.pi[At(k + best_q)], recursion.slope[At(k + best_q)]);
  }

 private:
  /// q' T + A pi_{k+q'} - S sum j, over c D + A.
  double MapperLoad(std::int32_t k, std::int32_t q, double per_load, double next) const {
    const double start_sum = layer_.startup * 0.5 * q * (2.0 * (k + 1) + q - 1) + q * intercept_;
    return (q * time_ + rate_ * next - start_sum) * per_load;
  }

  /// q' u + pi_{k+q'} with c D u + F(u) = T - c D pi_{k+q'} / q'.
  double ReducerLoad(std::int32_t q, double cut_share, double per_width, double next) {
    const double weight = layer_.send_all * cut_share;
    return q * layer_.compute.SolveLoad(weight, time_ - weight * next * per_width, line_hint_) +
           next;
  }

  /// d pi_k / dT along the chosen cut.
  double Slope(std::int32_t rest, std::int32_t q, double pi, double next, double next_slope) const {
    const double weight = layer_.send_all * (q >= rest ? 1.0 : layer_.top_fractions[At(q)]);
    if (layer_.kind == LayerKind::kMapper) return (q + rate_ * next_slope) / (weight + rate_);
    const double rate = layer_.compute.Slope((pi - next) / q);
    return q * (1 - weight * next_slope / q) / (rate + weight) + next_slope;
  }

  const ScaledLayer& layer_;
  const double time_;
  const double rate_, intercept_;  // A of a mapper layer
  std::size_t line_hint_;
  /// By width: mapper 1 / (c D_q + A), reducer 1 / q.
  std::vector<double> inverse_;
};

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
  CutRecursion result;
  result.pi.assign(At(layer.n) + 1, 0);
  result.slope.assign(At(layer.n) + 1, 0);
  result.chain.assign(At(layer.n), 0);
  CandidateSweep sweep(layer, time);
  for (std::int32_t k = layer.n - 1; k >= 0; --k) sweep.Step(k, result);
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
    bound.recursion = EvaluateCuts(layer, bound.time);
  }
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
