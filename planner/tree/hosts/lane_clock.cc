#include "planner/tree/hosts/lane_clock.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace weir::planner::tree {

std::vector<std::int32_t> SidesOfCuts(const NetworkModel& network) {
  std::map<std::vector<bool>, std::int32_t> number;
  std::vector<std::int32_t> side;
  for (WorkerIndex i = 0; i < network.num_workers; ++i) {
    const auto worker = static_cast<std::size_t>(i);
    std::vector<bool> sides;
    for (const Cut& cut : network.cuts) {
      sides.push_back(cut.from[worker]);
      sides.push_back(cut.to[worker]);
    }
    side.push_back(number.try_emplace(std::move(sides), static_cast<std::int32_t>(number.size()))
                       .first->second);
  }
  return side;
}

LaneClock::LaneClock(const NetworkModel& network, Seconds early_s)
    : network_(network),
      early_s_(early_s),
      lanes_(network),
      side_(SidesOfCuts(network)),
      free_at_(network.cuts.size()) {}

const std::vector<std::int32_t>& LaneClock::Crossed(WorkerIndex sender, WorkerIndex receiver) {
  const std::int64_t pair = (std::int64_t{side_[static_cast<std::size_t>(sender)]} << 32) +
                            side_[static_cast<std::size_t>(receiver)];
  const auto [at, fresh] = crossed_.try_emplace(pair);
  if (fresh) {
    for (std::size_t cut = 0; cut < network_.cuts.size(); ++cut) {
      if (network_.cuts[cut].Crosses(sender, receiver)) {
        at->second.push_back(static_cast<std::int32_t>(cut));
      }
    }
  }
  return at->second;
}

Seconds LaneClock::EarliestStart(WorkerIndex sender, WorkerIndex receiver, Seconds start_s) {
  if (free_at_.empty()) return start_s;
  const std::int64_t taken = lanes_.Taken(sender, receiver);
  for (const std::int32_t index : Crossed(sender, receiver)) {
    const auto cut = static_cast<std::size_t>(index);
    const std::multiset<Seconds>& free_at = free_at_[cut];
    const std::int64_t unused =
        lanes_.Of(network_.cuts[cut]) - static_cast<std::int64_t>(free_at.size());
    if (unused >= taken) continue;
    start_s = std::max(start_s, *std::next(free_at.begin(), taken - unused - 1));
  }
  return start_s;
}

void LaneClock::Place(WorkerIndex sender, WorkerIndex receiver, Seconds start_s, Seconds until_s) {
  if (free_at_.empty()) return;
  until_s = std::max(start_s, until_s - early_s_);
  const std::int32_t taken = lanes_.Taken(sender, receiver);
  for (const std::int32_t index : Crossed(sender, receiver)) {
    const auto cut = static_cast<std::size_t>(index);
    std::multiset<Seconds>& free_at = free_at_[cut];
    const std::int64_t lanes = lanes_.Of(network_.cuts[cut]);
    for (std::int32_t i = 0; i < taken; ++i) {
      const bool all_used = static_cast<std::int64_t>(free_at.size()) + taken - i > lanes;
      if (!free_at.empty() && (all_used || *free_at.begin() <= start_s)) {
        free_at.erase(free_at.begin());
      }
    }
    for (std::int32_t i = 0; i < taken; ++i) free_at.insert(until_s);
  }
}

}  // namespace weir::planner::tree
