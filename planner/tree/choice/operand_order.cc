#include "planner/tree/choice/operand_order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/tree_timing.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/tree_shapes.h"
#include "planner/tree/single/greedy_tree.h"

namespace weir::planner::tree {

namespace {

/// A tree with its senders in order of arrival and its subtree sizes.
struct ArrivalTree {
  std::vector<MachineIndex> order;  // sink first
  std::vector<std::vector<MachineIndex>> senders;
  std::vector<std::int64_t> size;
};

absl::StatusOr<ArrivalTree> ByArrival(const TimedTree& tree) {
  ArrivalTree arrival;
  auto order = SinkFirstOrder(tree.receiver);
  if (!order.ok()) return order.status();
  arrival.order = *std::move(order);
  arrival.senders.resize(tree.receiver.size());
  for (std::size_t i = 1; i < tree.receiver.size(); ++i) {
    arrival.senders[tree.receiver[i]].push_back(static_cast<MachineIndex>(i));
  }
  for (auto& group : arrival.senders) {
    std::stable_sort(group.begin(), group.end(), [&](MachineIndex a, MachineIndex b) {
      return tree.start_s[a] < tree.start_s[b];
    });
  }
  arrival.size.assign(tree.receiver.size(), 1);
  for (auto at = arrival.order.rbegin(); at != arrival.order.rend(); ++at) {
    if (*at != 0) arrival.size[tree.receiver[*at]] += arrival.size[*at];
  }
  return arrival;
}

// Chooses senders of the sink whose subtrees have `needed` machines in all and marks them left.
bool ChooseLeft(const ArrivalTree& arrival, std::int64_t needed, std::vector<bool>& is_left) {
  std::map<std::int64_t, std::pair<std::int64_t, MachineIndex>>
      reached;  // sum -> sum before, machine added
  reached[0] = {0, kNoMachine};
  for (MachineIndex sender : arrival.senders[0]) {
    std::map<std::int64_t, std::pair<std::int64_t, MachineIndex>> grown = reached;
    for (const auto& [sum, step] : reached) {
      const std::int64_t next = sum + arrival.size[sender];
      if (next <= needed) grown.emplace(next, std::pair{sum, sender});
    }
    reached = std::move(grown);
  }
  if (reached.find(needed) == reached.end()) return false;
  for (std::int64_t sum = needed; sum > 0; sum = reached[sum].first)
    is_left[reached[sum].second] = true;
  return true;
}

/// Ranks [first, last] that a machine's partial of one segment covers; empty once sent.
struct RankRange {
  std::int64_t first = 0;
  std::int64_t last = -1;
};

}  // namespace

absl::StatusOr<OperandPlacement> PlaceOperands(const TimedTree& tree,
                                               std::optional<std::int64_t> root_rank) {
  auto arrival = ByArrival(tree);
  if (!arrival.ok()) return arrival.status();
  OperandPlacement placement;
  placement.rank.assign(tree.receiver.size(), 0);
  placement.is_left.assign(tree.receiver.size(), false);
  if (root_rank.has_value() && !ChooseLeft(*arrival, *root_rank, placement.is_left)) {
    return absl::FailedPreconditionError(
        absl::StrCat("root_rank ", *root_rank,
                     " cannot be reached: no set of subtrees of the sink has that many machines"));
  }
  std::vector<std::int64_t> lowest(tree.receiver.size(), 0);  // least rank of the subtree
  for (MachineIndex machine : arrival->order) {
    const auto& senders = arrival->senders[machine];
    std::int64_t next = lowest[machine];
    // What arrives later stands further out, on either side.
    for (auto at = senders.rbegin(); at != senders.rend(); ++at) {
      if (!placement.is_left[*at]) continue;
      lowest[*at] = next;
      next += arrival->size[*at];
    }
    placement.rank[machine] = next++;
    for (MachineIndex sender : senders) {
      if (placement.is_left[sender]) continue;
      lowest[sender] = next;
      next += arrival->size[sender];
    }
  }
  return placement;
}

absl::StatusOr<OrderedTree> GreedyOrderedTree(std::int64_t n, ElementCosts costs,
                                              std::optional<std::int64_t> root_rank,
                                              std::int64_t max_transfers) {
  if (root_rank.has_value()) {
    if (absl::Status status = CheckCount("root_rank", *root_rank, 0, n - 1); !status.ok()) {
      return status;
    }
  }
  for (const Ties ties : {Ties::kJoinedFirst, Ties::kContinuingFirst}) {
    auto tree = max_transfers < n ? GreedyTreeLimitedTransfers(n, max_transfers, costs, ties)
                                  : GreedyTree(n, costs, ties);
    if (!tree.ok()) return tree.status();
    auto placement = PlaceOperands(*tree, root_rank);
    if (placement.ok()) return OrderedTree{*std::move(tree), *std::move(placement)};
    if (!absl::IsFailedPrecondition(placement.status())) return placement.status();
  }
  return absl::InternalError(
      absl::StrCat("no ties of the greedy tree of ", n, " machines reach root_rank ", *root_rank));
}

absl::Status CheckOrderPreserved(const Schedule& schedule) {
  const auto q = schedule.segment_units.size();
  std::vector<std::vector<RankRange>> holds(static_cast<std::size_t>(schedule.num_machines));
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const auto rank = static_cast<std::int64_t>(i);
    holds[i].assign(q, {rank, rank});
  }
  for (const Message& message : schedule.messages) {
    for (std::int32_t k = message.segment_begin; k < message.segment_end; ++k) {
      const std::size_t j = static_cast<std::size_t>(k) % q;
      RankRange& from = holds[message.sender][j];
      RankRange& to = holds[message.receiver][j];
      if (to.last < to.first) {
        to = from;
      } else if (from.last + 1 == to.first) {
        to.first = from.first;
      } else if (to.last + 1 == from.first) {
        to.last = from.last;
      } else {
        return absl::FailedPreconditionError(absl::StrCat(
            schedule.method, " does not keep the order of operands: machine ", message.sender,
            " sends ranks ", from.first, "..", from.last, " of segment ", j, " to machine ",
            message.receiver, ", which holds ", to.first, "..", to.last));
      }
      from = {0, -1};
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Schedule> OrderedPipeline(std::int32_t p, std::vector<double> units,
                                         const LinkCosts& costs, PortModel ports) {
  return ListSchedule("ordered pipeline", {PipelineShape(p)}, std::move(units), costs, ports);
}

absl::StatusOr<Schedule> OrderedTwoTree(std::int32_t p, std::vector<double> units,
                                        const LinkCosts& costs, PortModel ports) {
  auto [first, second] = OrderedTwoTreeShapes(p);
  return ListSchedule("ordered two-tree", {std::move(first), std::move(second)}, std::move(units),
                      costs, ports);
}

}  // namespace weir::planner::tree
