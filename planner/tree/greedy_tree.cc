#include "planner/tree/greedy_tree.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/tree/input_checks.h"

namespace weir::planner::tree {

namespace {

/// Machines that can take one more element in reversed time, earliest first.
///
/// Joined machines arrive in index order with nondecreasing times, machines that continue arrive in
/// the order in which they were popped: two arrays read from the front are a priority queue.
class ReceiverQueue {
 public:
  struct Entry {
    Seconds time_s = 0;
    MachineIndex machine = 0;
  };

  explicit ReceiverQueue(std::int64_t n) {
    joined_.reserve(static_cast<std::size_t>(n));
    continuing_.reserve(static_cast<std::size_t>(n));
    continuing_.push_back({0, 0});
  }

  void PushJoined(Entry entry) { joined_.push_back(entry); }
  void PushContinuing(Entry entry) { continuing_.push_back(entry); }

  Entry Pop() {
    const bool joined_waits = joined_head_ < joined_.size();
    const bool continuing_waits = continuing_head_ < continuing_.size();
    if (joined_waits && (!continuing_waits ||
                         joined_[joined_head_].time_s <= continuing_[continuing_head_].time_s)) {
      return joined_[joined_head_++];
    }
    return continuing_[continuing_head_++];
  }

 private:
  std::vector<Entry> joined_;
  std::vector<Entry> continuing_;
  std::size_t joined_head_ = 0;
  std::size_t continuing_head_ = 0;
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
TimedTree GrowFromSink(std::int64_t n, std::int64_t max_reducers, ElementCosts costs) {
  const Seconds hop_s = costs.combine_s + costs.transfer_s;
  const Seconds step_s = std::max(costs.transfer_s, costs.combine_s);
  TimedTree tree = EmptyTree(n);
  ReceiverQueue queue(n);
  for (MachineIndex i = 1; i < n; ++i) {
    const auto [time_s, machine] = queue.Pop();
    tree.receiver[i] = machine;
    tree.start_s[i] = time_s + hop_s;
    if (i < max_reducers) queue.PushJoined({time_s + hop_s, i});
    queue.PushContinuing({time_s + step_s, machine});
  }
  ReverseTimes(tree);
  return tree;
}

}  // namespace

absl::StatusOr<TimedTree> GreedyTree(std::int64_t n, ElementCosts costs) {
  if (absl::Status status = CheckInput(n, costs); !status.ok()) return status;
  return GrowFromSink(n, n, costs);
}

absl::StatusOr<TimedTree> GreedyTreeLimitedReducers(std::int64_t n, std::int64_t max_reducers,
                                                    ElementCosts costs) {
  if (absl::Status status = CheckInput(n, costs); !status.ok()) return status;
  if (absl::Status status = CheckCount("K", max_reducers, 1, n); !status.ok()) return status;
  return GrowFromSink(n, max_reducers, costs);
}

absl::StatusOr<TimedTree> GreedyTreeLimitedTransfers(std::int64_t n, std::int64_t max_transfers,
                                                     ElementCosts costs) {
  if (absl::Status status = CheckInput(n, costs); !status.ok()) return status;
  if (absl::Status status = CheckCount("K", max_transfers, 1, n); !status.ok()) return status;
  TimedTree tree = EmptyTree(n);
  ReceiverQueue queue(n);
  for (MachineIndex i = 1; i < n; ++i) {
    const auto [time_s, machine] = queue.Pop();
    // Line 8: the K-th transfer before this one must be over, in reversed time, before it begins.
    const Seconds slot_free_s = i > max_transfers ? tree.start_s[i - max_transfers] : 0;
    const Seconds end_s = std::max(time_s + costs.combine_s, slot_free_s) + costs.transfer_s;
    tree.receiver[i] = machine;
    tree.start_s[i] = end_s;
    queue.PushJoined({end_s, i});
    queue.PushContinuing({std::max(time_s + costs.combine_s, end_s - costs.combine_s), machine});
  }
  ReverseTimes(tree);
  return tree;
}

}  // namespace weir::planner::tree
