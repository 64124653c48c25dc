#include "planner/tree/single/greedy_tree.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/tree/model/input_checks.h"

namespace weir::planner::tree {

namespace {

/// Machines that can take one more element in reversed time, earliest first.
///
/// Joined machines arrive in index order with times that never fall, machines that continue arrive
/// in the order in which they were popped: two arrays read from the front are a priority queue.
/// Both arrays are those of the growing tree: machine i joined at start_s[i], and the k-th to
/// continue is receiver[k]; only the times of continuing are kept beside it.
class ReceiverQueue {
 public:
  struct Entry {
    Seconds time_s = 0;
    MachineIndex machine = 0;
  };

  ReceiverQueue(const TimedTree& tree, MachineIndex max_receivers, Ties ties)
      : tree_(tree),
        max_receivers_(max_receivers),
        ties_(ties),
        continuing_s_(tree.receiver.size()) {}

  /// Takes the earliest receiver for machine `sender`.
  Entry Pop(MachineIndex sender) {
    const bool joined_waits = joined_head_ < std::min(sender, max_receivers_);
    const bool continuing_waits = continuing_head_ < sender;
    if (joined_waits && (!continuing_waits || JoinedIsNext())) {
      const MachineIndex machine = joined_head_++;
      return {tree_.start_s[machine], machine};
    }
    const MachineIndex turn = continuing_head_++;
    return {continuing_s_[turn], turn == 0 ? 0 : tree_.receiver[turn]};
  }

  /// The receiver of `sender` is free again at time_s.
  void Continue(MachineIndex sender, Seconds time_s) { continuing_s_[sender] = time_s; }

 private:
  // Requires: both wait.
  bool JoinedIsNext() const {
    const Seconds joined_s = tree_.start_s[joined_head_];
    const Seconds continuing_s = continuing_s_[continuing_head_];
    return ties_ == Ties::kJoinedFirst ? joined_s <= continuing_s : joined_s < continuing_s;
  }

  const TimedTree& tree_;
  MachineIndex max_receivers_;
  Ties ties_;
  std::vector<Seconds> continuing_s_;  // by the sender just taken; entry 0 is the sink at 0
  MachineIndex joined_head_ = 1;
  MachineIndex continuing_head_ = 0;
};

absl::Status CheckInput(std::int64_t n, ElementCosts costs) {
  if (absl::Status status = CheckCount("n", n, 1, kTreeMachinesMax); !status.ok()) return status;
  if (absl::Status status = CheckCost("d", costs.transfer_s); !status.ok()) return status;
  return CheckCost("c", costs.combine_s);
}

TimedTree EmptyTree(std::int64_t n) {
  TimedTree tree;
  tree.receiver.assign(static_cast<std::size_t>(n), kNoMachine);
  tree.start_s.assign(static_cast<std::size_t>(n), 0);
  return tree;
}

// start_s holds the reversed end of each transfer; the last machine's is the makespan.
void ReverseTimes(TimedTree& tree) {
  tree.makespan_s = tree.start_s.back();
  for (std::size_t i = 1; i < tree.start_s.size(); ++i) {
    tree.start_s[i] = tree.makespan_s - tree.start_s[i];
  }
}

// Algorithms 1 and 3: only the first max_reducers machines ever receive.
TimedTree GrowFromSink(std::int64_t n, std::int64_t max_reducers, ElementCosts costs, Ties ties) {
  const Seconds hop_s = costs.combine_s + costs.transfer_s;
  const Seconds step_s = std::max(costs.transfer_s, costs.combine_s);
  TimedTree tree = EmptyTree(n);
  ReceiverQueue queue(tree, static_cast<MachineIndex>(max_reducers), ties);
  for (MachineIndex i = 1; i < n; ++i) {
    const auto [time_s, machine] = queue.Pop(i);
    tree.receiver[i] = machine;
    tree.start_s[i] = time_s + hop_s;
    queue.Continue(i, time_s + step_s);
  }
  ReverseTimes(tree);
  return tree;
}

}  // namespace

absl::StatusOr<TimedTree> GreedyTree(std::int64_t n, ElementCosts costs, Ties ties) {
  if (absl::Status status = CheckInput(n, costs); !status.ok()) return status;
  return GrowFromSink(n, n, costs, ties);
}

absl::StatusOr<TimedTree> GreedyTreeLimitedReducers(std::int64_t n, std::int64_t max_reducers,
                                                    ElementCosts costs) {
  if (absl::Status status = CheckInput(n, costs); !status.ok()) return status;
  if (absl::Status status = CheckCount("K", max_reducers, 1, n); !status.ok()) return status;
  return GrowFromSink(n, max_reducers, costs, Ties::kJoinedFirst);
}

absl::StatusOr<TimedTree> GreedyTreeLimitedTransfers(std::int64_t n, std::int64_t max_transfers,
                                                     ElementCosts costs, Ties ties) {
  if (absl::Status status = CheckInput(n, costs); !status.ok()) return status;
  if (absl::Status status = CheckCount("K", max_transfers, 1, n); !status.ok()) return status;
  TimedTree tree = EmptyTree(n);
  ReceiverQueue queue(tree, static_cast<MachineIndex>(n), ties);
  for (MachineIndex i = 1; i < n; ++i) {
    const auto [time_s, machine] = queue.Pop(i);
    // Line 8: the K-th transfer before this one must be over, in reversed time, before it begins.
    const Seconds slot_free_s = i > max_transfers ? tree.start_s[i - max_transfers] : 0;
    const Seconds end_s = std::max(time_s + costs.combine_s, slot_free_s) + costs.transfer_s;
    tree.receiver[i] = machine;
    tree.start_s[i] = end_s;
    queue.Continue(i, std::max(time_s + costs.combine_s, end_s - costs.combine_s));
  }
  ReverseTimes(tree);
  return tree;
}

}  // namespace weir::planner::tree
