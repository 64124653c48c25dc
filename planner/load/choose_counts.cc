#include "planner/load/choose_counts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weir::planner::load {
namespace {

constexpr double kLeastImprovement = 1e-9;
constexpr int kMovesMax = 8;

std::int32_t& CountOf(Chain& chain, std::size_t p) {
  return p == 0 ? chain.num_mappers : chain.reducers[p - 1].num_reducers;
}

// Chains with more senders in all than this are compared with equal shares: unequal ones cost
// quadratic time.
constexpr std::int32_t kBlendedWidthMax = 100;
// The same where this is less than the senders times the square of the layers: bending the
// fractions of a deep chain solves that many layers some dozens of times, at each of the counts
// that are compared.
constexpr double kBlendedWorkMax = 1000;

absl::StatusOr<Seconds> Makespan(const Chain& chain) {
  std::int32_t width = chain.num_mappers;
  for (const ChainReducers& reducers : chain.reducers) width += reducers.num_reducers;
  const auto layers = static_cast<double>(chain.reducers.size() + 1);
  const bool blended = width <= kBlendedWidthMax && width * layers * layers <= kBlendedWorkMax;
  const absl::StatusOr<ChainSolution> solution =
      blended ? SolveChain(chain, LayerMethod::kFast) : SolveEqualShares(chain);
  if (!solution.ok()) return solution.status();
  return solution->makespan_s;
}

absl::Status CheckLimits(const Chain& chain, const CountLimits& limits) {
  const std::size_t num_layers = chain.reducers.size() + 1;
  if (limits.counts_max.size() != num_layers || limits.fixed.size() != num_layers) {
    return absl::InvalidArgumentError(absl::StrCat("count limits for ", limits.counts_max.size(),
                                                   " and ", limits.fixed.size(),
                                                   " layers; legal: ", num_layers));
  }
  for (std::size_t p = 0; p < num_layers; ++p) {
    if (limits.counts_max[p] < 1) {
      return absl::InvalidArgumentError(absl::StrCat("largest count of layer ", p, " is ",
                                                     limits.counts_max[p], "; legal: >= 1"));
    }
  }
  return absl::OkStatus();
}

/// Moves one count while the chain gets shorter; returns whether it moved.
absl::StatusOr<bool> MoveCount(std::size_t p, std::int32_t count_max, Chain& chain,
                               Seconds& best_s) {
  bool moved = false;
  for (bool again = true; again;) {
    again = false;
    const std::int32_t now = CountOf(chain, p);
    for (const std::int32_t next : {1, count_max, 2 * now, now / 2, now + std::max(1, now / 8),
                                    now - std::max(1, now / 8), now + 1, now - 1}) {
      if (next < 1 || next > count_max || next == CountOf(chain, p)) continue;
      Chain candidate = chain;
      CountOf(candidate, p) = next;
      const absl::StatusOr<Seconds> makespan_s = Makespan(candidate);
      if (!makespan_s.ok()) return makespan_s.status();
      if (*makespan_s >= best_s * (1 - kLeastImprovement)) continue;
      best_s = *makespan_s;
      chain = std::move(candidate);
      moved = again = true;
    }
  }
  return moved;
}

}  // namespace

absl::StatusOr<Chain> ChooseCounts(const Chain& chain, const CountLimits& limits) {
  if (absl::Status status = CheckLimits(chain, limits); !status.ok()) return status;
  Chain best = chain;
  for (std::size_t p = 0; p < limits.counts_max.size(); ++p) {
    if (!limits.fixed[p]) CountOf(best, p) = limits.counts_max[p];
  }
  absl::StatusOr<Seconds> best_s = Makespan(best);
  if (!best_s.ok()) return best_s.status();
  bool moved = true;
  for (int pass = 0; pass < kMovesMax && moved; ++pass) {
    moved = false;
    for (std::size_t p = 0; p < limits.counts_max.size(); ++p) {
      if (limits.fixed[p]) continue;
      const absl::StatusOr<bool> step = MoveCount(p, limits.counts_max[p], best, *best_s);
      if (!step.ok()) return step.status();
      moved = moved || *step;
    }
  }
  return best;
}

absl::StatusOr<OneMore> CompareOneMore(const Chain& chain) {
  const absl::StatusOr<Seconds> now_s = Makespan(chain);
  if (!now_s.ok()) return now_s.status();
  OneMore more;
  for (std::size_t p = 0; p <= chain.reducers.size(); ++p) {
    Chain changed = chain;
    ++CountOf(changed, p);
    const absl::StatusOr<Seconds> changed_s = Makespan(changed);
    if (!changed_s.ok()) return changed_s.status();
    if (p == 0) {
      more.mapper_s = *changed_s - *now_s;
    } else {
      more.reducer_s.push_back(*changed_s - *now_s);
    }
  }
  Chain changed = chain;
  ++changed.channels;
  const absl::StatusOr<Seconds> changed_s = Makespan(changed);
  if (!changed_s.ok()) return changed_s.status();
  more.channel_s = *changed_s - *now_s;
  return more;
}

}  // namespace weir::planner::load
