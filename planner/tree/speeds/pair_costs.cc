#include "planner/tree/speeds/pair_costs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/speeds/fixed_sequence.h"

namespace weir::planner::tree {

namespace {

/// Reversed greedy over a joining order; start_s holds reversed ends until Reverse.
class ReversedGreedy {
 public:
  ReversedGreedy(const std::vector<Seconds>& send_s, const std::vector<Seconds>& receive_s)
      : send_s_(send_s), receive_s_(receive_s) {}

  /// takes_second[i]: machine i joins at the second best receiver instead of the best.
  TimedTree Build(const std::vector<MachineIndex>& order,
                  const std::vector<bool>& takes_second) const {
    TimedTree tree;
    tree.receiver.assign(send_s_.size(), kNoMachine);
    tree.start_s.assign(send_s_.size(), 0);
    std::vector<MachineIndex> joined = {0};
    std::vector<Seconds> free_s(send_s_.size(), 0);
    for (MachineIndex machine : order) {
      auto ready_s = [&](MachineIndex i) { return free_s[i] + receive_s_[i]; };
      MachineIndex receiver = 0;
      MachineIndex second = kNoMachine;
      for (MachineIndex candidate : joined) {
        if (candidate == 0) continue;
        if (ready_s(candidate) < ready_s(receiver)) {
          second = std::exchange(receiver, candidate);
        } else if (second == kNoMachine || ready_s(candidate) < ready_s(second)) {
          second = candidate;
        }
      }
      if (takes_second[machine] && second != kNoMachine) receiver = second;
      const Seconds end_s = free_s[receiver] + receive_s_[receiver] + send_s_[machine];
      free_s[receiver] = end_s;
      free_s[machine] = end_s;
      tree.receiver[machine] = receiver;
      tree.start_s[machine] = end_s;
      tree.makespan_s = std::max(tree.makespan_s, end_s);
      joined.push_back(machine);
    }
    for (std::size_t i = 1; i < tree.start_s.size(); ++i)
      tree.start_s[i] = tree.makespan_s - tree.start_s[i];
    return tree;
  }

 private:
  const std::vector<Seconds>& send_s_;
  const std::vector<Seconds>& receive_s_;
};

}  // namespace

absl::StatusOr<TimedTree> PairCostTree(const std::vector<Seconds>& send_s,
                                       const std::vector<Seconds>& receive_s,
                                       std::int64_t iterations) {
  const auto n = static_cast<std::int64_t>(send_s.size());
  if (absl::Status status = CheckCount("n", n, 1, kPairMachinesMax); !status.ok()) return status;
  if (send_s.size() != receive_s.size()) {
    return absl::InvalidArgumentError(absl::StrCat("receive has ", receive_s.size(),
                                                   " entries and send ", n, "; they must agree"));
  }
  if (absl::Status status = CheckCosts("send", send_s); !status.ok()) return status;
  if (absl::Status status = CheckCosts("receive", receive_s); !status.ok()) return status;
  if (absl::Status status = CheckCount("iterations", iterations, 0, 1'000'000'000); !status.ok())
    return status;

  const ReversedGreedy greedy(send_s, receive_s);
  std::vector<MachineIndex> best_order(send_s.size() - 1);
  std::iota(best_order.begin(), best_order.end(), 1);
  std::vector<bool> takes_second(send_s.size(), false);
  TimedTree best = greedy.Build(best_order, takes_second);
  for (const auto& [send_weight, receive_weight] :
       {std::pair{1.0, 0.0}, {0.0, 1.0}, {1.0, 1.0}, {-1.0, 1.0}}) {
    auto key = [&, a = send_weight, b = receive_weight](MachineIndex i) {
      return a * send_s[i] + b * receive_s[i];
    };
    std::vector<MachineIndex> order = best_order;
    std::sort(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(),
                     [&](MachineIndex x, MachineIndex y) { return key(x) < key(y); });
    TimedTree tree = greedy.Build(order, takes_second);
    if (tree.makespan_s < best.makespan_s) {
      best = std::move(tree);
      best_order = std::move(order);
    }
  }
  const std::uint64_t m = best_order.size();
  FixedSequence random(m);
  for (std::int64_t k = 0; k < iterations && m > 1; ++k) {
    std::vector<MachineIndex> order = best_order;
    const auto from = static_cast<std::ptrdiff_t>(random.Below(m));
    const auto to = static_cast<std::ptrdiff_t>(random.Below(m));
    std::vector<bool> seconds = takes_second;
    if (random.Below(3) == 0) {
      seconds[order[static_cast<std::size_t>(from)]].flip();
    } else {
      const MachineIndex moved = order[static_cast<std::size_t>(from)];
      order.erase(order.begin() + from);
      order.insert(order.begin() + to, moved);
    }
    TimedTree tree = greedy.Build(order, seconds);
    if (tree.makespan_s > best.makespan_s) continue;
    best = std::move(tree);
    best_order = std::move(order);
    takes_second = std::move(seconds);
  }
  return best;
}

}  // namespace weir::planner::tree
