#include "planner/load/fast_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "planner/plan/units.h"

namespace weir::planner::load {
namespace {

constexpr int kGreedyStepsMax = 60;
constexpr int kClosedFormStepsMax = 60;
constexpr double kTotalTolerance = 1e-14;
// A rule whose time is within this of the bound is optimal to rounding: the others need not be
// tried.
constexpr double kOptimalGap = 1e-13;
// Cost of all load on one sender, relative to the makespan, below which start-up is all there is.
constexpr double kNegligibleCost = 1e-11;
// Loads below zero by less than this are rounding; the rule is refused otherwise.
constexpr double kNegativeLoadTolerance = 1e-11;

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Total load that the closed form places by time T, and its derivative.
struct Placed {
  double total = 0;
  double slope = 0;
};

Placed HandOverMapper(const ScaledLayer& layer, double time, std::vector<double>& share) {
  const double rate = layer.compute.lines()[0].slope;
  const double intercept = layer.compute.lines()[0].intercept;
  const double per_load = 1.0 / (rate + layer.send_all);
  std::vector<double> finish(At(layer.n));
  std::vector<double> finish_slope(At(layer.n));
  Placed placed;
  for (std::int32_t k = layer.n - 1; k >= 0; --k) {
    const bool last_group = k + layer.width >= layer.n;
    const double end = last_group ? time : finish[At(k + layer.width)];
    const double end_slope = last_group ? 1.0 : finish_slope[At(k + layer.width)];
    const double start = (k + 1) * layer.startup + intercept;
    share[At(k)] = (end - start) * per_load;
    finish[At(k)] = start + rate * share[At(k)];
    finish_slope[At(k)] = rate * end_slope * per_load;
    placed.total += share[At(k)];
    placed.slope += end_slope * per_load;
  }
  return placed;
}

Placed GroupReducers(const ScaledLayer& layer, double time, std::vector<double>& share) {
  Placed placed;
  std::size_t line_hint = layer.compute.lines().size() / 2;
  const std::int32_t num_groups = (layer.n + layer.width - 1) / layer.width;
  for (std::int32_t group = num_groups - 1; group >= 0; --group) {
    const std::int32_t first = group * layer.width;
    const std::int32_t size = std::min(layer.width, layer.n - first);
    // One sender of the group: F(x) + c (size x + loads after the group) / size = T.
    const double weight = layer.send_all;
    const double load =
        layer.compute.SolveLoad(weight, time - weight * placed.total / size, line_hint);
    const double slope =
        (1 - weight * placed.slope / size) / (layer.compute.SlopeAt(load, line_hint) + weight);
    std::fill(share.begin() + first, share.begin() + first + size, load);
    placed.total += size * load;
    placed.slope += size * slope;
  }
  return placed;
}

/// Keeps the candidate when it is feasible and better than what is kept.
void Offer(const ScaledLayer& layer, std::vector<double> share, LoadRule rule, ScaledLoads& kept) {
  for (double& load : share) {
    if (!(load >= -kNegativeLoadTolerance)) return;
    load = std::max(load, 0.0);
  }
  const double total = Sum(share);
  for (double& load : share) load /= total;
  if (layer.kind == LayerKind::kReducer) std::sort(share.begin(), share.end());
  for (std::int32_t k = 1; k < layer.n; ++k) {
    if (layer.FinishTime(k, share[At(k)]) <
        layer.FinishTime(k - 1, share[At(k - 1)]) - kNegativeLoadTolerance)
      return;
  }
  const double time = CutMakespan(layer, share);
  if (time >= kept.time) return;
  kept.share = std::move(share);
  kept.time = time;
  kept.rule = rule;
}

std::vector<double> AllTight(const CutRecursion& recursion) {
  std::vector<double> share(recursion.chain.size());
  for (std::size_t k = 0; k < share.size(); ++k) share[k] = recursion.pi[k] - recursion.pi[k + 1];
  return share;
}

std::vector<double> EqualGroups(const CutRecursion& recursion) {
  std::vector<double> share(recursion.chain.size());
  for (std::size_t k = 0; k < share.size();) {
    const std::size_t size = At(recursion.chain[k]);
    const double load = (recursion.pi[k] - recursion.pi[k + size]) / static_cast<double>(size);
    std::fill_n(share.begin() + static_cast<std::ptrdiff_t>(k), size, load);
    k += size;
  }
  return share;
}

/// Gives each sender, from the last, the most load that the cuts leave it at `time`.
Placed GreedyAt(const ScaledLayer& layer, double time, std::vector<double>& share) {
  const std::int32_t n = layer.n;
  // Sums over senders k .. n: load, finish time, and their derivatives by T.
  std::vector<double> load(At(n) + 1, 0), finish(At(n) + 1, 0), load_slope(At(n) + 1, 0),
      finish_slope(At(n) + 1, 0);
  std::size_t line_hint = layer.compute.lines().size() / 2;
  for (std::int32_t k = n - 1; k >= 0; --k) {
    const std::int32_t rest = n - k;
    double best = std::numeric_limits<double>::infinity();
    double best_slope = 0;
    double best_rate = 0;
    const auto consider = [&](std::int32_t q, double cut_share) {
      const double weight = layer.send_all * cut_share;
      const double rhs =
          q * time - weight * load[At(k + 1)] - (finish[At(k + 1)] - finish[At(k + q)]);
      const double rhs_slope =
          q - weight * load_slope[At(k + 1)] - (finish_slope[At(k + 1)] - finish_slope[At(k + q)]);
      const double x = layer.compute.SolveLoad(weight, rhs, line_hint);
      if (x >= best) return;
      best = x;
      best_rate = layer.compute.SlopeAt(x, line_hint);
      best_slope = rhs_slope / (best_rate + weight);
    };
    for (const std::int32_t q : layer.cut_widths) {
      if (q >= rest) break;
      consider(q, layer.top_fractions[At(q)]);
    }
    if (rest <= layer.width) consider(rest, 1.0);
    share[At(k)] = best;
    load[At(k)] = load[At(k + 1)] + best;
    load_slope[At(k)] = load_slope[At(k + 1)] + best_slope;
    finish[At(k)] = finish[At(k + 1)] + layer.compute.Value(best);
    finish_slope[At(k)] = finish_slope[At(k + 1)] + best_rate * best_slope;
  }
  return {load[0], load_slope[0]};
}

std::vector<double> BackwardGreedy(const ScaledLayer& layer, double bound) {
  std::vector<double> share(At(layer.n));
  double time = bound;
  for (int step = 0; step < kGreedyStepsMax; ++step) {
    const Placed placed = GreedyAt(layer, time, share);
    if (std::abs(placed.total - 1) < kTotalTolerance || !(placed.slope > 0)) break;
    time += (1 - placed.total) / placed.slope;
  }
  return share;
}

/// T = n S leaves slack: takes the surplus of the all-tight loads from the first senders, which
/// finish first anyway.
ScaledLoads ForcedLoads(const ScaledLayer& layer, const CutBound& bound) {
  ScaledLoads loads;
  loads.share = AllTight(bound.recursion);
  for (double& load : loads.share) load = std::max(load, 0.0);
  double surplus = Sum(loads.share) - 1;
  for (double& load : loads.share) {
    const double taken = std::clamp(surplus, 0.0, load);
    load -= taken;
    surplus -= taken;
  }
  // What was taken may be ten orders of magnitude above what is left, and its last digits with it.
  const double sum = Sum(loads.share);
  for (double& load : loads.share) load /= sum;
  loads.rule = LoadRule::kStartupForced;
  loads.time = CutMakespan(layer, loads.share);
  return loads;
}

/// All start-up: whatever the loads are, doubles cannot tell their times apart. Equal shares.
ScaledLoads StartupOnlyLoads(const ScaledLayer& layer) {
  ScaledLoads loads;
  loads.share.assign(At(layer.n), 1.0 / layer.n);
  loads.time = CutMakespan(layer, loads.share);
  loads.bound = layer.FinishTime(layer.n - 1, 0);
  loads.rule = LoadRule::kStartupForced;
  return loads;
}

}  // namespace

const char* LoadRuleName(LoadRule rule) {
  switch (rule) {
    case LoadRule::kClosedForm:
      return "closed form";
    case LoadRule::kAllTight:
      return "all tight";
    case LoadRule::kEqualGroups:
      return "equal groups";
    case LoadRule::kBackwardGreedy:
      return "backward greedy";
    case LoadRule::kEqualShares:
      return "equal shares";
    case LoadRule::kStartupForced:
      return "start-up forced";
    case LoadRule::kCutProgram:
      return "cut program";
    case LoadRule::kSourceProgram:
      return "source program";
  }
  return "unknown";
}

bool HasClosedForm(const ScaledLayer& layer) { return layer.cut_widths.size() == 1; }

ScaledLoads ClosedFormLoads(const ScaledLayer& layer) {
  ScaledLoads loads;
  loads.rule = LoadRule::kClosedForm;
  loads.share.assign(At(layer.n), 0);
  double time = 1;
  for (; loads.newton_steps < kClosedFormStepsMax; ++loads.newton_steps) {
    const Placed placed = layer.kind == LayerKind::kMapper
                              ? HandOverMapper(layer, time, loads.share)
                              : GroupReducers(layer, time, loads.share);
    const double next = time + (1 - placed.total) / placed.slope;
    const bool done = std::abs(next - time) <= 5e-13 * std::abs(next);
    time = next;
    if (done) break;
  }
  const double total = Sum(loads.share);
  for (double& load : loads.share) load /= total;
  loads.time = time;
  loads.bound = time;
  return loads;
}

ScaledLoads FastLoads(const ScaledLayer& layer) {
  if (layer.compute.Value(1) - layer.compute.Value(0) + layer.send_all < kNegligibleCost) {
    return StartupOnlyLoads(layer);
  }
  if (HasClosedForm(layer)) {
    ScaledLoads loads = ClosedFormLoads(layer);
    const bool nonnegative = *std::min_element(loads.share.begin(), loads.share.end()) >= 0;
    const double last_start =
        layer.kind == LayerKind::kMapper ? layer.FinishTime(layer.n - 1, 0) : 0;
    if (nonnegative && loads.time >= last_start) return loads;
  }
  const CutBound bound = FindCutBound(layer);
  ScaledLoads loads;
  if (bound.forced_by_startup) {
    loads = ForcedLoads(layer, bound);
  } else {
    loads.time = std::numeric_limits<double>::infinity();
    Offer(layer, AllTight(bound.recursion), LoadRule::kAllTight, loads);
    if (layer.kind == LayerKind::kReducer && loads.time > bound.time * (1 + kOptimalGap)) {
      Offer(layer, EqualGroups(bound.recursion), LoadRule::kEqualGroups, loads);
    }
    if (layer.kind == LayerKind::kReducer && loads.time > bound.time * (1 + kOptimalGap)) {
      Offer(layer, BackwardGreedy(layer, bound.time), LoadRule::kBackwardGreedy, loads);
    }
    // Equal shares are always in order: the fallback when no rule fits, and never better than what
    // is returned.
    if (loads.time > bound.time * (1 + kOptimalGap)) {
      Offer(layer, std::vector<double>(At(layer.n), 1.0 / layer.n), LoadRule::kEqualShares, loads);
    }
  }
  loads.bound = bound.time;
  loads.newton_steps = bound.newton_steps;
  return loads;
}

}  // namespace weir::planner::load
