#include "planner/tree/single/release_dates.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "planner/tree/model/input_checks.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/implicit_tree.h"

namespace weir::planner::tree {

namespace {

absl::Status CheckInput(const std::vector<Seconds>& release, ElementCosts costs,
                        std::int64_t max_transfers) {
  const auto n = static_cast<std::int64_t>(release.size());
  if (absl::Status status = CheckCount("n", n, 1, kReleaseMachinesMax); !status.ok()) return status;
  if (absl::Status status = CheckCost("d", costs.transfer_s); !status.ok()) return status;
  if (absl::Status status = CheckCost("c", costs.combine_s); !status.ok()) return status;
  if (absl::Status status = CheckCount("K", max_transfers, 1, kNoTransferLimit); !status.ok())
    return status;
  return CheckCosts("release", release);
}

Seconds GreedyLength(std::int64_t n, ElementCosts costs, std::int64_t max_transfers) {
  if (max_transfers >= n / 2) return ImplicitTree::Create(n, costs)->makespan_s();
  return GreedyTreeLimitedTransfers(n, std::max<std::int64_t>(1, max_transfers), costs)->makespan_s;
}

/// Which machine joins next, in reversed time.
enum class JoinPolicy {
  kLatestFirst,  // it has the tightest deadline
  kMostFertile,  // the earliest released, when latest-first can still place the rest
};

/// One transfer of a filled tree; machines by position in release order.
struct Join {
  MachineIndex machine = 0;
  MachineIndex receiver = 0;
  Seconds start_s = 0;
};

/// Grows a tree backwards from deadline T. Copied to try out the rest.
class DeadlineFill {
 public:
  DeadlineFill(const std::vector<Seconds>& release, ElementCosts costs, std::int64_t max_transfers,
               Seconds deadline_s)
      : release_(release),
        costs_(costs),
        max_transfers_(max_transfers),
        deadline_s_(deadline_s),
        slack_s_(1e-12 * deadline_s),
        last_(static_cast<MachineIndex>(release.size()) - 1) {
    slots_.push({0, 0});
  }

  // Returns false when some machine cannot make the deadline.
  bool Fill(JoinPolicy policy) {
    while (first_ <= last_) {
      if (!DropUnusableSlots()) return false;
      const auto [free_s, receiver] = slots_.top();
      const Seconds end_s = TransferEnd(free_s);
      if (deadline_s_ - end_s < release_[last_] - slack_s_) return false;
      slots_.pop();
      const bool fertile =
          policy == JoinPolicy::kMostFertile && FitsAfterJoining(first_, receiver, free_s);
      Add(fertile ? first_++ : last_--, receiver, free_s, end_s);
    }
    return true;
  }

  const std::vector<Join>& joins() const { return joins_; }

 private:
  using Slot = std::pair<Seconds, MachineIndex>;

  Seconds TransferEnd(Seconds free_s) const {
    const auto running = static_cast<std::int64_t>(ends_s_.size()) - max_transfers_;
    const Seconds channel_s = running >= 0 ? ends_s_[static_cast<std::size_t>(running)] : 0;
    return std::max(free_s + costs_.combine_s, channel_s) + costs_.transfer_s;
  }

  // A machine cannot receive before its own release.
  bool DropUnusableSlots() {
    while (!slots_.empty() && deadline_s_ - TransferEnd(slots_.top().first) <
                                  release_[slots_.top().second] - slack_s_) {
      slots_.pop();
    }
    return !slots_.empty();
  }

  bool FitsAfterJoining(MachineIndex machine, MachineIndex receiver, Seconds free_s) const {
    DeadlineFill rest = *this;
    rest.Add(machine, receiver, free_s, TransferEnd(free_s));
    ++rest.first_;
    return rest.Fill(JoinPolicy::kLatestFirst);
  }

  void Add(MachineIndex machine, MachineIndex receiver, Seconds free_s, Seconds end_s) {
    joins_.push_back({machine, receiver, deadline_s_ - end_s});
    ends_s_.push_back(end_s);
    slots_.push({end_s, machine});
    slots_.push({std::max(free_s + costs_.combine_s, end_s - costs_.combine_s), receiver});
  }

  const std::vector<Seconds>& release_;
  ElementCosts costs_;
  std::int64_t max_transfers_;
  Seconds deadline_s_;
  Seconds slack_s_;
  MachineIndex first_ = 1;
  MachineIndex last_;
  std::priority_queue<Slot, std::vector<Slot>, std::greater<>> slots_;
  std::vector<Seconds> ends_s_;  // reversed, never falling
  std::vector<Join> joins_;
};

// Starts the joins in their planned order as early as ports, combines, releases and the limit
// allow.
TimedTree TimeForward(const std::vector<Seconds>& release, ElementCosts costs,
                      std::int64_t max_transfers, std::vector<Join> joins) {
  TimedTree tree;
  tree.receiver.assign(release.size(), kNoMachine);
  tree.start_s.assign(release.size(), 0);
  // Joins run from the sink outwards; reversed they are feasible even where times are equal.
  std::reverse(joins.begin(), joins.end());
  std::stable_sort(joins.begin(), joins.end(),
                   [](const Join& a, const Join& b) { return a.start_s < b.start_s; });
  std::vector<Seconds> port_s = release;
  std::vector<Seconds> combined_s = release;
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> ends;
  Seconds previous_s = 0;
  for (const Join& join : joins) {
    Seconds start_s =
        std::max({port_s[join.machine], combined_s[join.machine], port_s[join.receiver]});
    if (max_transfers < static_cast<std::int64_t>(release.size())) {
      start_s = std::max(start_s, previous_s);
      while (!ends.empty() && ends.top() <= start_s) ends.pop();
      if (static_cast<std::int64_t>(ends.size()) >= max_transfers) {
        start_s = std::max(start_s, ends.top());
        ends.pop();
      }
      ends.push(start_s + costs.transfer_s);
      previous_s = start_s;
    }
    tree.receiver[join.machine] = join.receiver;
    tree.start_s[join.machine] = start_s;
    const Seconds arrival_s = start_s + costs.transfer_s;
    port_s[join.receiver] = arrival_s;
    combined_s[join.receiver] = std::max(combined_s[join.receiver], arrival_s) + costs.combine_s;
  }
  tree.makespan_s = combined_s[0];
  return tree;
}

// The shortest tree that one policy finds by bisection of the deadline.
TimedTree BestByPolicy(const std::vector<Seconds>& release, ElementCosts costs,
                       std::int64_t max_transfers, JoinPolicy policy, Seconds least_s,
                       Seconds most_s) {
  TimedTree best;
  best.makespan_s = std::numeric_limits<double>::infinity();
  auto try_deadline = [&](Seconds deadline_s) {
    DeadlineFill fill(release, costs, max_transfers, deadline_s);
    if (!fill.Fill(policy)) return false;
    TimedTree tree = TimeForward(release, costs, max_transfers, fill.joins());
    if (tree.makespan_s < best.makespan_s) best = std::move(tree);
    return true;
  };
  if (try_deadline(least_s)) return best;
  try_deadline(most_s);
  for (int step = 0; step < 40 && most_s - least_s > 1e-9 * most_s; ++step) {
    const Seconds middle_s = (least_s + most_s) / 2;
    if (try_deadline(middle_s)) {
      most_s = std::min(middle_s, best.makespan_s);
    } else {
      least_s = middle_s;
    }
  }
  return best;
}

}  // namespace

absl::StatusOr<Seconds> ReleaseLowerBound(const std::vector<Seconds>& release, ElementCosts costs,
                                          std::int64_t max_transfers) {
  if (absl::Status status = CheckInput(release, costs, max_transfers); !status.ok()) return status;
  std::vector<Seconds> sorted = release;
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<std::int64_t>(sorted.size());
  Seconds bound_s = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    if (k > 0 && sorted[k] == sorted[k - 1]) continue;
    const std::int64_t elements = n - k + (k > 0 ? 1 : 0);
    bound_s = std::max(bound_s, sorted[k] + GreedyLength(elements, costs, max_transfers));
  }
  return bound_s;
}

absl::StatusOr<TimedTree> ReleaseDateTree(const std::vector<Seconds>& release, ElementCosts costs,
                                          std::int64_t max_transfers) {
  auto bound_s = ReleaseLowerBound(release, costs, max_transfers);
  if (!bound_s.ok()) return bound_s.status();
  std::vector<MachineIndex> order(release.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](MachineIndex a, MachineIndex b) { return release[a] < release[b]; });
  std::vector<Seconds> sorted;
  for (MachineIndex machine : order) sorted.push_back(release[machine]);

  const auto n = static_cast<std::int64_t>(release.size());
  const Seconds wait_for_all_s = sorted.back() + GreedyLength(n, costs, max_transfers);
  TimedTree best = BestByPolicy(sorted, costs, max_transfers, JoinPolicy::kLatestFirst, *bound_s,
                                wait_for_all_s);
  if (n <= kFertileMachinesMax && best.makespan_s > *bound_s) {
    TimedTree other = BestByPolicy(sorted, costs, max_transfers, JoinPolicy::kMostFertile, *bound_s,
                                   wait_for_all_s);
    if (other.makespan_s < best.makespan_s) best = std::move(other);
  }
  TimedTree tree = best;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const MachineIndex receiver = best.receiver[i];
    tree.receiver[order[i]] = receiver == kNoMachine ? kNoMachine : order[receiver];
    tree.start_s[order[i]] = best.start_s[i];
  }
  return tree;
}

}  // namespace weir::planner::tree
