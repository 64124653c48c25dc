#include "planner/plan/predict/rate_room.h"

#include <cstddef>

namespace weir::planner {
namespace {

// Sums of rates that fill a port exactly are off by rounding.
constexpr double kRounding = 1e-9;

}  // namespace

RateRoom::RateRoom(const Plan& plan) : plan_(plan), keeps_places_(plan.port_lanes > 0) {
  if (plan.transfer_order != TransferOrder::kRates || plan.rates_over_time) return;
  resources_ = PacedResources(plan);
  taken_bytes_per_s_.assign(resources_.capacity.size(), 0);
  num_users_.assign(resources_.capacity.size(), 0);
  lacking_.resize(resources_.capacity.size());
  lacks_.assign(plan.transfers.size(), kNoIndex);
}

absl::Span<const std::int32_t> RateRoom::UsesOf(TransferIndex transfer) const {
  const std::size_t begin = resources_.resource_begin[At(transfer)];
  return absl::MakeConstSpan(resources_.resources)
      .subspan(begin, resources_.resource_begin[At(transfer) + 1] - begin);
}

template <typename Visit>
void RateRoom::ForEachFitting(std::int32_t use, const Visit& visit) const {
  const double most = resources_.capacity[At(use)] * (1 + kRounding);
  double taken = taken_bytes_per_s_[At(use)];
  for (const TransferIndex waits : lacking_[At(use)]) {
    taken += plan_.transfers[At(waits)].rate_bytes_per_s;
    if (taken > most || !visit(waits)) return;
  }
}

std::int32_t RateRoom::Lacks(TransferIndex transfer) const {
  const double rate = plan_.transfers[At(transfer)].rate_bytes_per_s;
  for (const std::int32_t use : UsesOf(transfer)) {
    if (keeps_places_) {
      bool fits = false;
      ForEachFitting(use, [&](TransferIndex waits) {
        fits = waits == transfer;
        return waits < transfer;
      });
      if (!fits) return use;
      continue;
    }
    const double most = resources_.capacity[At(use)] * (1 + kRounding);
    if (taken_bytes_per_s_[At(use)] + rate > most) return use;
  }
  return kNoIndex;
}

void RateRoom::LookAgain(std::int32_t use) {
  ForEachFitting(use, [this](TransferIndex waits) {
    if (!expected_.contains(waits)) to_look_at_.insert(waits);
    return true;
  });
}

void RateRoom::Expect(TransferIndex transfer) {
  if (!keeps_places_) return;
  expected_.insert(transfer);
  for (const std::int32_t use : UsesOf(transfer)) lacking_[At(use)].insert(transfer);
}

void RateRoom::ForgetExpected() {
  while (!expected_.empty()) Withdraw(*expected_.begin());
}

void RateRoom::Wait(TransferIndex transfer) {
  to_look_at_.insert(transfer);
  if (!keeps_places_) return;
  expected_.erase(transfer);
  for (const std::int32_t use : UsesOf(transfer)) lacking_[At(use)].insert(transfer);
}

void RateRoom::Withdraw(const TransferIndex transfer) {
  to_look_at_.erase(transfer);
  expected_.erase(transfer);
  if (keeps_places_) {
    for (const std::int32_t use : UsesOf(transfer)) {
      if (lacking_[At(use)].erase(transfer) > 0) LookAgain(use);
    }
    return;
  }
  std::int32_t& lacks = lacks_[At(transfer)];
  if (lacks != kNoIndex) lacking_[At(lacks)].erase(transfer);
  lacks = kNoIndex;
}

void RateRoom::Begin(TransferIndex transfer) {
  if (keeps_places_) {
    expected_.erase(transfer);
    for (const std::int32_t use : UsesOf(transfer)) lacking_[At(use)].erase(transfer);
  }
  for (const std::int32_t use : UsesOf(transfer)) {
    taken_bytes_per_s_[At(use)] += plan_.transfers[At(transfer)].rate_bytes_per_s;
    ++num_users_[At(use)];
  }
}

void RateRoom::End(TransferIndex transfer) {
  for (const std::int32_t use : UsesOf(transfer)) {
    double& taken = taken_bytes_per_s_[At(use)];
    taken -= plan_.transfers[At(transfer)].rate_bytes_per_s;
    if (--num_users_[At(use)] == 0) taken = 0;
    if (keeps_places_) {
      LookAgain(use);
      continue;
    }
    for (const TransferIndex waits : lacking_[At(use)]) {
      lacks_[At(waits)] = kNoIndex;
      to_look_at_.insert(waits);
    }
    lacking_[At(use)].clear();
  }
}

std::vector<TransferIndex> RateRoom::TakeStartable(
    absl::FunctionRef<bool(TransferIndex)> may_begin) {
  std::vector<TransferIndex> begun;
  for (auto next = to_look_at_.begin(); next != to_look_at_.end();) {
    const TransferIndex transfer = *next;
    const std::int32_t lacks = Lacks(transfer);
    if (lacks == kNoIndex && !may_begin(transfer)) {
      ++next;
      continue;
    }
    next = to_look_at_.erase(next);
    if (lacks != kNoIndex) {
      if (keeps_places_) continue;
      lacks_[At(transfer)] = lacks;
      lacking_[At(lacks)].insert(transfer);
      continue;
    }
    Begin(transfer);
    begun.push_back(transfer);
  }
  return begun;
}

}  // namespace weir::planner
