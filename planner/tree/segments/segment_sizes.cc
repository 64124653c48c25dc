#include "planner/tree/segments/segment_sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/segments/unidirectional_greedy.h"

namespace weir::planner::tree {

namespace {

// Visits the compositions of `rest` behind `prefix`, large first parts first.
template <typename Visit>
void VisitCompositions(std::int64_t rest, std::vector<double>& prefix, const Visit& visit) {
  if (rest == 0) {
    visit(prefix);
    return;
  }
  for (std::int64_t part = rest; part >= 1; --part) {
    prefix.push_back(static_cast<double>(part));
    VisitCompositions(rest - part, prefix, visit);
    prefix.pop_back();
  }
}

std::vector<double> UniformSizes(std::int64_t units, std::int64_t size) {
  std::vector<double> sizes(static_cast<std::size_t>(units / size), static_cast<double>(size));
  if (units % size != 0) sizes.push_back(static_cast<double>(units % size));
  return sizes;
}

}  // namespace

SegmentChoice BestUniformByFormula(double rounds_before, double rounds_per_segment, double units,
                                   const LinkCosts& costs, std::int64_t q_max) {
  const double work = (costs.beta_s_per_unit + costs.gamma_s_per_unit) * units;
  auto length_s = [&](std::int64_t q) {
    const auto count = static_cast<double>(q);
    return (rounds_before + rounds_per_segment * count) * (costs.alpha_s + work / count);
  };
  double real = static_cast<double>(q_max);
  if (costs.alpha_s > 0) {
    real = std::sqrt(std::max(0.0, rounds_before) * work / (rounds_per_segment * costs.alpha_s));
  } else if (rounds_before <= 0) {
    real = 1;
  }
  const auto floor_q = static_cast<std::int64_t>(std::clamp(real, 1.0, static_cast<double>(q_max)));
  SegmentChoice best{floor_q, length_s(floor_q)};
  if (floor_q < q_max && length_s(floor_q + 1) < best.length_s)
    best = {floor_q + 1, length_s(floor_q + 1)};
  return best;
}

SegmentChoice BestUniformBySearch(const std::function<Seconds(std::int64_t)>& length,
                                  std::int64_t q_max) {
  SegmentChoice best{1, length(1)};
  std::int64_t before = 1;
  std::int64_t after = q_max + 1;
  std::int64_t previous = 1;
  bool best_is_last = true;
  for (std::int64_t q = 2; q <= q_max; q = std::max(q + 1, q + q / 20)) {
    if (best_is_last) after = q;
    best_is_last = false;
    if (const Seconds length_s = length(q); length_s < best.length_s) {
      best = {q, length_s};
      before = previous;
      best_is_last = true;
    }
    previous = q;
  }
  if (best_is_last) after = q_max + 1;
  const SegmentChoice coarse = best;
  for (std::int64_t q = before + 1; q < after; ++q) {
    if (q == coarse.num_segments) continue;
    const Seconds length_s = length(q);
    const bool better = length_s < best.length_s;
    if (better || (length_s == best.length_s && q < best.num_segments)) best = {q, length_s};
  }
  return best;
}

absl::StatusOr<SegmentationResult> BestNonuniform(std::int64_t p, std::int64_t units,
                                                  const LinkCosts& costs) {
  if (absl::Status status = CheckCount("m", units, 1, kCompositionUnitsMax); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(status.message(), " to try all compositions; use the best uniform size"));
  }
  SegmentationResult result;
  result.best_uniform_s = std::numeric_limits<double>::infinity();
  for (std::int64_t size = 1; size <= units; ++size) {
    auto length_s = UnidirectionalGreedyLength(p, UniformSizes(units, size), costs);
    if (!length_s.ok()) return length_s.status();
    result.best_uniform_s = std::min(result.best_uniform_s, *length_s);
  }
  result.best_s = std::numeric_limits<double>::infinity();
  std::vector<double> sizes;
  VisitCompositions(units, sizes, [&](const std::vector<double>& composition) {
    const Seconds length_s = *UnidirectionalGreedyLength(p, composition, costs);
    if (length_s < result.best_s - kScheduleTie) {
      result.best_s = length_s;
      result.best_sizes.clear();
    }
    if (length_s < result.best_s + kScheduleTie) result.best_sizes.push_back(composition);
  });
  return result;
}

}  // namespace weir::planner::tree
