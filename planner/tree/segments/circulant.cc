#include "planner/tree/segments/circulant.h"

#include <algorithm>
#include <utility>

#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/single/implicit_tree.h"

namespace weir::planner::tree {

namespace {

/// Receive schedules of the circulant broadcast: in round k of a phase, machine r hears from r -
/// skip[k].
class CirculantBroadcast {
 public:
  explicit CirculantBroadcast(std::int32_t p)
      : p_(p), num_skips_(static_cast<std::int32_t>(CeilLog2(p))), skip_(num_skips_ + 1) {
    skip_[num_skips_] = p;
    for (std::int32_t k = num_skips_ - 1; k >= 0; --k) skip_[k] = (skip_[k + 1] + 1) / 2;
  }

  std::int32_t num_skips() const { return num_skips_; }
  std::int32_t skip(std::int32_t k) const { return skip_[k]; }

  /// Returns for each round of a phase the block, relative to the phase, that machine r receives.
  std::vector<std::int32_t> ReceiveSchedule(std::int32_t r) const {
    Search search(num_skips_);
    const std::int32_t base = BaseBlock(r);
    search.Remove(base);
    Extend(p_ + r, 0, 2 * p_, num_skips_, 0, search);
    std::vector<std::int32_t> blocks = search.found;
    for (std::int32_t& block : blocks) block = block == num_skips_ ? base : block - num_skips_;
    return blocks;
  }

 private:
  // Skips not yet used on the path, largest first, as a linked list; entry num_skips + 1 ends it.
  struct Search {
    explicit Search(std::int32_t num_skips)
        : next(num_skips + 2), previous(num_skips + 2), found(num_skips) {
      const std::int32_t end = num_skips + 1;
      for (std::int32_t i = 0; i <= num_skips; ++i) {
        next[i] = i > 0 ? i - 1 : end;
        previous[i] = i < num_skips ? i + 1 : end;
      }
      next[end] = num_skips;
      previous[end] = 0;
    }
    void Remove(std::int32_t entry) {
      next[previous[entry]] = next[entry];
      previous[next[entry]] = previous[entry];
    }
    std::vector<std::int32_t> next;
    std::vector<std::int32_t> previous;
    std::vector<std::int32_t> found;
  };

  // The block that reaches r first: the smallest skip of its greedy decomposition; num_skips for
  // the root.
  std::int32_t BaseBlock(std::int32_t r) const {
    std::int32_t reached = 0;
    for (std::int32_t i = num_skips_ - 1; i >= 0; --i) {
      if (reached + skip_[i] == r) return i;
      if (reached + skip_[i] < r) reached += skip_[i];
    }
    return num_skips_;
  }

  // Depth-first over greedy skip paths from `at` towards `target`; fills found[k...] and returns
  // the next k.
  std::int32_t Extend(std::int32_t target, std::int32_t at, std::int32_t limit, std::int32_t entry,
                      std::int32_t k, Search& search) const {
    const std::int32_t end = num_skips_ + 1;
    while (entry != end) {
      const std::int32_t reached = at + skip_[entry];
      if (k < num_skips_ && reached <= target - skip_[k] && reached < limit) {
        if (reached <= target - skip_[k + 1]) k = Extend(target, reached, limit, entry, k, search);
        if (k >= num_skips_ || at > target - skip_[k + 1]) return k;
        limit = reached;
        search.found[k++] = entry;
        search.Remove(entry);
      }
      entry = search.next[entry];
    }
    return k;
  }

  std::int32_t p_;
  std::int32_t num_skips_;
  std::vector<std::int32_t> skip_;
};

Schedule ScheduleRounds(std::string method, std::int32_t p, std::vector<double> units,
                        const std::vector<std::vector<RoundMessage>>& rounds,
                        const LinkCosts& costs, PortModel ports) {
  Schedule schedule = EmptySchedule(std::move(method), p, std::move(units));
  for (const auto& round : rounds) {
    for (const RoundMessage& m : round) {
      schedule.messages.push_back(
          MakeMessage(schedule, costs, ports, m.sender, m.receiver, m.segment, m.segment + 1));
    }
  }
  TimeMessages(schedule, ports);
  return schedule;
}

}  // namespace

std::vector<std::vector<RoundMessage>> CirculantRounds(std::int32_t p, std::int32_t q) {
  const CirculantBroadcast broadcast(p);
  const std::int32_t skips = broadcast.num_skips();
  std::vector<std::vector<RoundMessage>> rounds;
  if (skips == 0) return rounds;
  std::vector<std::vector<std::int32_t>> receive(static_cast<std::size_t>(p));
  for (std::int32_t r = 1; r < p; ++r) receive[r] = broadcast.ReceiveSchedule(r);

  // The first phase is cut so that the last one ends with the last block.
  const std::int32_t lead = (skips - (q - 1) % skips) % skips;
  std::vector<std::vector<bool>> has(static_cast<std::size_t>(p),
                                     std::vector<bool>(static_cast<std::size_t>(q), false));
  for (std::int32_t i = lead; i < q - 1 + skips + lead; ++i) {
    const std::int32_t k = i % skips;
    const std::int32_t phase_offset = i / skips * skips - lead;
    std::vector<RoundMessage> round;
    for (std::int32_t r = 1; r < p; ++r) {
      const std::int32_t block = std::min(receive[r][k] + phase_offset, q - 1);
      if (block < 0 || has[r][block]) continue;
      has[r][block] = true;
      const std::int32_t informed_by = ((r - broadcast.skip(k)) % p + p) % p;
      round.push_back({r, informed_by, block});
    }
    rounds.push_back(std::move(round));
  }
  std::reverse(rounds.begin(), rounds.end());
  return rounds;
}

absl::StatusOr<Schedule> CirculantSchedule(std::int32_t p, std::vector<double> units,
                                           const LinkCosts& costs, PortModel ports) {
  if (absl::Status status = CheckSegmented(p, units, costs); !status.ok()) return status;
  const auto rounds = CirculantRounds(p, static_cast<std::int32_t>(units.size()));
  return ScheduleRounds("round-optimal", p, std::move(units), rounds, costs, ports);
}

absl::StatusOr<Schedule> InterleavedSchedule(std::int32_t p, std::vector<double> units,
                                             const LinkCosts& costs, PortModel ports) {
  if (absl::Status status = CheckSegmented(p, units, costs); !status.ok()) return status;
  const auto q = static_cast<std::int32_t>(units.size());
  const std::int32_t first_half = (q + 1) / 2;
  const auto even = CirculantRounds(p, first_half);
  auto odd = q > 1 ? CirculantRounds(p, q - first_half) : std::vector<std::vector<RoundMessage>>{};
  std::vector<std::vector<RoundMessage>> rounds;
  for (std::size_t i = 0; i < std::max(even.size(), odd.size()); ++i) {
    if (i < even.size()) rounds.push_back(even[i]);
    if (i >= odd.size()) continue;
    for (RoundMessage& m : odd[i]) m.segment += first_half;
    rounds.push_back(std::move(odd[i]));
  }
  return ScheduleRounds("interleaved", p, std::move(units), rounds, costs, ports);
}

absl::StatusOr<Seconds> OverlapLowerBound(std::int64_t p, std::int64_t q, ElementCosts costs) {
  auto tree = ImplicitTree::Create(p, costs);
  if (!tree.ok()) return tree.status();
  if (p == 1) return 0.0;
  return tree->makespan_s() +
         static_cast<double>(q - 1) * std::max(costs.transfer_s, costs.combine_s);
}

}  // namespace weir::planner::tree
