#include "planner/plan/predict/rate_allocation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace weir::planner {
namespace {

// Sums of rates that fill a port exactly are off by rounding.
constexpr double kRounding = 1e-9;

}  // namespace

RateAllocation::RateAllocation(const Plan& plan) : plan_(plan) {
  if (!plan.rates_over_time) return;
  resources_ = PacedResources(plan);
  held_.assign(resources_.capacity.size(), 0);
  rate_of_.assign(plan.transfers.size(), 0);
  weight_of_.assign(plan.transfers.size(), 0);
  has_come_.assign(plan.transfers.size(), false);
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    ++to_come_[LayerOf(static_cast<TransferIndex>(t))];
  }
}

std::int32_t RateAllocation::LayerOf(TransferIndex transfer) const {
  return plan_.steps[At(plan_.transfers[At(transfer)].consumer)].layer;
}

void RateAllocation::Comes(TransferIndex transfer) {
  if (has_come_[At(transfer)]) return;
  has_come_[At(transfer)] = true;
  --to_come_[LayerOf(transfer)];
}

bool RateAllocation::AllHaveCome(const std::vector<TransferIndex>& pool) const {
  std::map<std::int32_t, std::int32_t> to_come;
  for (const TransferIndex transfer : pool) {
    const std::int32_t layer = LayerOf(transfer);
    to_come.emplace(layer, to_come_.at(layer));
  }
  for (const auto& [transfer, share] : shares_) {
    const auto layer = to_come.find(LayerOf(transfer));
    if (share.expected && layer != to_come.end()) --layer->second;
  }
  return std::all_of(to_come.begin(), to_come.end(),
                     [](const auto& layer) { return layer.second == 0; });
}

absl::Span<const std::int32_t> RateAllocation::UsesOf(TransferIndex transfer) const {
  const std::size_t begin = resources_.resource_begin[At(transfer)];
  return absl::MakeConstSpan(resources_.resources)
      .subspan(begin, resources_.resource_begin[At(transfer) + 1] - begin);
}

double RateAllocation::LagOf(TransferIndex transfer) const {
  const Transfer& planned = plan_.transfers[At(transfer)];
  return plan_.network.Lag(planned.sender, planned.receiver);
}

void RateAllocation::Wait(TransferIndex transfer, Bytes bytes) {
  Comes(transfer);
  Share share;
  share.left = static_cast<double>(bytes) * LagOf(transfer);
  const auto expected = shares_.find(transfer);
  if (expected != shares_.end()) share.wanted = expected->second.wanted;
  shares_[transfer] = share;
  changed_ = true;
}

void RateAllocation::Expect(TransferIndex transfer, Bytes bytes) {
  Share share;
  share.left = static_cast<double>(bytes) * LagOf(transfer);
  share.expected = true;
  changed_ = shares_.emplace(transfer, share).second || changed_;
}

void RateAllocation::Unexpect(TransferIndex transfer) {
  const auto found = shares_.find(transfer);
  if (found == shares_.end() || !found->second.expected) return;
  shares_.erase(found);
  changed_ = true;
}

void RateAllocation::Withdraw(TransferIndex transfer) {
  Comes(transfer);
  changed_ = shares_.erase(transfer) > 0 || changed_;
}

void RateAllocation::Begin(const RateOrder& order, Bytes bytes_left, double held_bytes_per_s,
                           Seconds now_s) {
  Comes(order.transfer);
  now_s_ = std::max(now_s_, now_s);
  Share share;
  share.left = static_cast<double>(bytes_left) * LagOf(order.transfer);
  share.rate = share.wanted = order.bytes_per_s;
  share.number = order.number;
  share.begun = true;
  share.flows_from_s = now_s;
  Hold(order.transfer, share, held_bytes_per_s);
  shares_.emplace(order.transfer, share);
  changed_ = true;
}

void RateAllocation::End(TransferIndex transfer) {
  const auto ended = shares_.find(transfer);
  Hold(transfer, ended->second, 0);
  shares_.erase(ended);
  changed_ = true;
}

void RateAllocation::Confirm(TransferIndex transfer, std::int32_t number) {
  const auto found = shares_.find(transfer);
  if (found == shares_.end() || !found->second.begun || found->second.number != number) return;
  if (!found->second.fixed) Hold(transfer, found->second, found->second.rate);
}

void RateAllocation::Fix(TransferIndex transfer) {
  const auto found = shares_.find(transfer);
  if (found == shares_.end() || !found->second.begun) return;
  Share& share = found->second;
  share.fixed = true;
  share.rate = share.wanted = share.held;
  changed_ = true;
}

void RateAllocation::Hold(TransferIndex transfer, Share& share, double bytes_per_s) {
  for (const std::int32_t use : UsesOf(transfer)) {
    held_[At(use)] = std::max(0.0, held_[At(use)] + bytes_per_s - share.held);
  }
  share.held = bytes_per_s;
}

bool RateAllocation::HasRoom(TransferIndex transfer, double more) const {
  const auto uses = UsesOf(transfer);
  return std::all_of(uses.begin(), uses.end(), [&](std::int32_t use) {
    return held_[At(use)] + more <= resources_.capacity[At(use)] * (1 + kRounding);
  });
}

void RateAllocation::Flow(Seconds now_s) {
  for (auto& [transfer, share] : shares_) {
    if (!share.begun) continue;
    const Seconds flowed_s = now_s - std::max(now_s_, share.flows_from_s);
    if (flowed_s > 0) share.left -= flowed_s * share.rate;
  }
  now_s_ = std::max(now_s_, now_s);
}

bool RateAllocation::KeepsRate(const Share& share) const {
  return share.begun && (share.fixed || share.left <= share.rate * kRateKeptS);
}

double RateAllocation::LeastOf(TransferIndex transfer) const {
  const Share& share = shares_.at(transfer);
  double least = share.begun ? std::min(share.rate, kSlowestRateBytesPerS) : kSlowestRateBytesPerS;
  for (const std::int32_t use : UsesOf(transfer)) {
    least = std::min(least, resources_.capacity[At(use)]);
  }
  return least;
}

std::vector<TransferIndex> RateAllocation::Admit(std::vector<double>* capacity) const {
  const auto take = [&](TransferIndex transfer, double rate, std::vector<double>* from) {
    for (const std::int32_t use : UsesOf(transfer)) (*from)[At(use)] -= rate;
  };
  std::vector<TransferIndex> pool;
  for (const auto& [transfer, share] : shares_) {
    if (KeepsRate(share)) take(transfer, share.rate, capacity);
  }
  // Those under way first: they have a rate already.
  std::vector<double> left = *capacity;
  for (const auto& [transfer, share] : shares_) {
    if (!share.begun || KeepsRate(share)) continue;
    pool.push_back(transfer);
    take(transfer, LeastOf(transfer), &left);
  }
  for (const auto& [transfer, share] : shares_) {
    if (share.begun || share.put_off) continue;
    const double least = LeastOf(transfer);
    const auto uses = UsesOf(transfer);
    const bool fits = std::all_of(uses.begin(), uses.end(), [&](std::int32_t use) {
      return left[At(use)] + resources_.capacity[At(use)] * kRounding >= least;
    });
    if (!fits) continue;
    take(transfer, least, &left);
    pool.push_back(transfer);
  }
  return pool;
}

void RateAllocation::ShareByBytesLeft(std::vector<TransferIndex> pool,
                                      std::vector<double> capacity) {
  SharingProblem problem{std::move(capacity), resources_.resource_begin, resources_.resources};
  for (const TransferIndex transfer : pool) {
    weight_of_[At(transfer)] = std::max(1.0, shares_.at(transfer).left);
  }
  // Whoever gets less than the slowest is given that, and the others share what is left then.
  while (!pool.empty()) {
    for (std::size_t r = 0; r < problem.capacity.size(); ++r) {
      problem.capacity[r] = std::max(problem.capacity[r], resources_.capacity[r] * kRounding / 10);
    }
    WeightedMaxMinRates(problem, pool, weight_of_, &rate_of_);
    const auto too_slow = std::stable_partition(pool.begin(), pool.end(), [&](TransferIndex t) {
      return rate_of_[At(t)] >= LeastOf(t) * (1 - kRounding);
    });
    if (too_slow == pool.end()) return;
    for (auto t = too_slow; t != pool.end(); ++t) {
      rate_of_[At(*t)] = LeastOf(*t);
      for (const std::int32_t use : UsesOf(*t)) problem.capacity[At(use)] -= rate_of_[At(*t)];
    }
    pool.erase(too_slow, pool.end());
  }
}

void RateAllocation::EndTogether(const std::vector<TransferIndex>& pool) {
  double level = std::numeric_limits<double>::infinity();
  for (const TransferIndex t : pool) level = std::min(level, rate_of_[At(t)] / weight_of_[At(t)]);
  for (const TransferIndex t : pool) {
    rate_of_[At(t)] = std::max(level * weight_of_[At(t)], LeastOf(t));
  }
}

void RateAllocation::Divide(absl::FunctionRef<bool(TransferIndex)> may_begin) {
  for (auto& [transfer, share] : shares_) {
    share.wanted = share.begun ? share.rate : 0;
    share.put_off = !share.begun && !share.expected && !may_begin(transfer);
  }
  std::vector<double> capacity = resources_.capacity;
  const std::vector<TransferIndex> pool = Admit(&capacity);
  ShareByBytesLeft(pool, capacity);
  if (AllHaveCome(pool)) EndTogether(pool);
  const bool worth = std::any_of(pool.begin(), pool.end(), [&](TransferIndex t) {
    const Share& share = shares_.at(t);
    if (!share.begun) return !share.expected;
    return rate_of_[At(t)] >= share.rate * (1 + kRateGainMin);
  });
  for (const TransferIndex t : pool) {
    Share& share = shares_.at(t);
    const bool same =
        share.begun && std::abs(rate_of_[At(t)] - share.rate) <= kRounding * share.rate;
    if (worth && !same) share.wanted = rate_of_[At(t)];
    for (const std::int32_t use : UsesOf(t)) capacity[At(use)] -= share.wanted;
  }
  RaiseOverdue(std::move(capacity));
}

void RateAllocation::RaiseOverdue(std::vector<double> capacity) {
  std::vector<TransferIndex> overdue;
  for (const auto& [transfer, share] : shares_) {
    if (!share.begun || share.fixed || share.left > -share.rate * kRateOverdueS) continue;
    overdue.push_back(transfer);
    weight_of_[At(transfer)] = share.rate;
  }
  if (overdue.empty()) return;
  for (std::size_t r = 0; r < capacity.size(); ++r) {
    capacity[r] = std::max(capacity[r], resources_.capacity[r] * kRounding / 10);
  }
  WeightedMaxMinRates({std::move(capacity), resources_.resource_begin, resources_.resources},
                      overdue, weight_of_, &rate_of_);
  for (const TransferIndex t : overdue) {
    Share& share = shares_.at(t);
    if (rate_of_[At(t)] >= share.rate * kRateGainMin) share.wanted = share.rate + rate_of_[At(t)];
  }
}

RateAllocation::Turn RateAllocation::Take(Seconds now_s,
                                          absl::FunctionRef<bool(TransferIndex)> may_begin,
                                          absl::FunctionRef<void(TransferIndex)> begins) {
  Flow(now_s);
  Turn turn;
  for (auto& [transfer, share] : shares_) {
    const bool kept = !share.begun && !share.expected && share.wanted > 0;
    if (kept) TryBegin(transfer, share, &turn, may_begin, begins);
  }
  for (const auto& [transfer, share] : shares_) {
    changed_ = changed_ || (share.put_off && may_begin(transfer));
  }
  if (std::exchange(changed_, false)) Divide(may_begin);
  for (auto& [transfer, share] : shares_) {
    if (!share.begun || share.wanted >= share.rate) continue;
    share.rate = share.wanted;
    turn.change.push_back({transfer, share.rate, ++share.number});
  }
  for (auto& [transfer, share] : shares_) {
    if (share.begun && share.wanted > share.rate) {
      const double held = std::max(share.held, share.wanted);
      if (!HasRoom(transfer, held - share.held)) continue;
      Hold(transfer, share, held);
      share.rate = share.wanted;
      turn.change.push_back({transfer, share.rate, ++share.number});
    }
    if (share.begun || share.expected) continue;
    if (share.wanted > 0) TryBegin(transfer, share, &turn, may_begin, begins);
  }
  return turn;
}

void RateAllocation::TryBegin(TransferIndex transfer, Share& share, Turn* turn,
                              absl::FunctionRef<bool(TransferIndex)> may_begin,
                              absl::FunctionRef<void(TransferIndex)> begins) {
  // One that may not after all keeps what others were told to leave for it: it would have them told
  // again, and again.
  if (!HasRoom(transfer, share.wanted) || !may_begin(transfer)) return;
  share.begun = true;
  share.rate = share.wanted;
  share.flows_from_s = now_s_ + StartSeconds(plan_);
  Hold(transfer, share, share.rate);
  begins(transfer);
  turn->begin.push_back({transfer, share.rate, 0});
}

std::optional<RateAllocation::NextEnd> RateAllocation::FindNextEnd() const {
  std::optional<NextEnd> next;
  for (const auto& [transfer, share] : shares_) {
    if (!share.begun) continue;
    const Seconds at_s =
        std::max(now_s_, share.flows_from_s) + std::max(0.0, share.left) / share.rate;
    if (!next || at_s < next->at_s) next = NextEnd{transfer, at_s};
  }
  return next;
}

std::optional<RateAllocation::UnderWay> RateAllocation::Look(TransferIndex transfer,
                                                             Seconds now_s) const {
  const auto found = shares_.find(transfer);
  if (found == shares_.end() || !found->second.begun) return std::nullopt;
  const Share& share = found->second;
  const Seconds flowed_s = std::max(0.0, now_s - std::max(now_s_, share.flows_from_s));
  const double left = std::max(0.0, share.left - flowed_s * share.rate) / LagOf(transfer);
  return UnderWay{
      {transfer, share.rate, share.number}, share.held, static_cast<Bytes>(std::llround(left))};
}

}  // namespace weir::planner
