#include "planner/tree/model/tree_timing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"

namespace weir::planner::tree {

absl::StatusOr<std::vector<MachineIndex>> SinkFirstOrder(absl::Span<const MachineIndex> receiver) {
  const auto n = static_cast<MachineIndex>(receiver.size());
  std::vector<std::vector<MachineIndex>> senders(receiver.size());
  for (MachineIndex i = 1; i < n; ++i) {
    if (receiver[i] < 0 || receiver[i] >= n || receiver[i] == i) {
      return absl::InvalidArgumentError(absl::StrCat("child of machine ", i + 1, " is ",
                                                     receiver[i] + 1,
                                                     "; it must be another machine of 1..", n));
    }
    senders[receiver[i]].push_back(i);
  }
  std::vector<MachineIndex> order = {0};
  order.reserve(receiver.size());
  for (std::size_t next = 0; next < order.size(); ++next) {
    const std::vector<MachineIndex>& group = senders[order[next]];
    order.insert(order.end(), group.begin(), group.end());
  }
  if (order.size() == receiver.size()) return order;
  std::vector<bool> reached(receiver.size(), false);
  for (MachineIndex machine : order) reached[machine] = true;
  const auto lost = std::find(reached.begin(), reached.end(), false) - reached.begin();
  return absl::InvalidArgumentError(absl::StrCat(
      "child: machine ", lost + 1, " never reaches the sink; its receivers form a cycle"));
}

absl::StatusOr<TimedTree> TimeTree(absl::Span<const MachineIndex> receiver, ElementCosts costs) {
  if (absl::Status status =
          CheckCount("n", static_cast<std::int64_t>(receiver.size()), 1, kTreeMachinesMax);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckCost("d", costs.transfer_s); !status.ok()) return status;
  if (absl::Status status = CheckCost("c", costs.combine_s); !status.ok()) return status;
  auto order = SinkFirstOrder(receiver);
  if (!order.ok()) return order.status();

  TimedTree tree;
  tree.receiver.assign(receiver.begin(), receiver.end());
  tree.receiver[0] = kNoMachine;
  tree.start_s.assign(receiver.size(), 0);
  std::vector<std::vector<std::pair<Seconds, MachineIndex>>> arrivals(receiver.size());
  for (auto at = order->rbegin(); at != order->rend(); ++at) {
    auto& queue = arrivals[*at];
    std::sort(queue.begin(), queue.end());
    Seconds port_free_s = 0;
    Seconds combined_s = 0;
    for (const auto& [ready_s, sender] : queue) {
      tree.start_s[sender] = std::max(port_free_s, ready_s);
      port_free_s = tree.start_s[sender] + costs.transfer_s;
      combined_s = std::max(combined_s, port_free_s) + costs.combine_s;
    }
    if (*at == 0) {
      tree.makespan_s = combined_s;
    } else {
      arrivals[tree.receiver[*at]].push_back({combined_s, *at});
    }
  }
  return tree;
}

}  // namespace weir::planner::tree
