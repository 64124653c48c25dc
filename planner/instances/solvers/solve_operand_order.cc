#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/shared_fields.h"
#include "planner/tree/choice/operand_order.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/model/input_checks.h"

namespace weir::planner::tree {

namespace {

// Ranks of machines are printed from 1, like the machines; "root_rank" is read from 1.
std::optional<std::int64_t> ReadRootRank(InstanceFields& fields, std::int64_t n) {
  if (!fields.Has("root_rank")) return std::nullopt;
  const std::int64_t rank = fields.Integer("root_rank");
  fields.Note(fields.Locate(CheckCount("root_rank", rank, 1, n)));
  return rank - 1;
}

absl::StatusOr<ResultJson> SolvePreorder(InstanceFields& fields) {
  TimedTree tree;
  tree.receiver = ReadReceivers(fields);
  const std::vector<double> start = fields.Numbers("start");
  const auto root_rank = ReadRootRank(fields, static_cast<std::int64_t>(tree.receiver.size()));
  if (!fields.status().ok()) return fields.status();
  if (start.size() + 1 != tree.receiver.size()) {
    return fields.Error("start", absl::StrCat("has ", start.size(), " entries; it needs ",
                                              tree.receiver.size() - 1));
  }
  tree.start_s = {0};
  tree.start_s.insert(tree.start_s.end(), start.begin(), start.end());
  auto placement = PlaceOperands(tree, root_rank);
  if (!placement.ok()) return fields.Locate(placement.status());
  ResultJson ranks = ResultJson::array();
  for (std::int64_t rank : placement->rank) ranks.push_back(rank + 1);
  ResultJson result = {{"rank_of_node", std::move(ranks)}};
  if (root_rank.has_value()) result["is_left"] = placement->is_left;
  return result;
}

absl::StatusOr<Collective> PlanOrderedTree(InstanceFields& fields) {
  const std::int32_t n = ReadMachines(fields, "n");
  const ElementCosts costs = ReadElementCosts(fields);
  const auto root_rank = ReadRootRank(fields, n);
  if (!fields.status().ok()) return fields.status();
  auto ordered = GreedyOrderedTree(n, costs, root_rank);
  if (!ordered.ok()) return ordered.status();
  const std::vector<std::int64_t>& ranks = ordered->placement.rank;
  Collective collective;
  collective.reduction = FromTree("greedy tree by preorder", ordered->tree, costs, 1);
  RenameMachines({ranks.begin(), ranks.end()}, collective.reduction);
  return collective;
}

using OrderedBuilder = absl::StatusOr<Schedule> (*)(std::int32_t, std::vector<double>,
                                                    const LinkCosts&, PortModel);

// The builders put the root at rank 0; the other end is the mirror image.
absl::StatusOr<Collective> PlanOrdered(InstanceFields& fields, const char* method,
                                       OrderedBuilder build) {
  const std::int32_t p = ReadMachines(fields, "p");
  const std::vector<double> units = ReadSegments(fields);
  const LinkCosts costs = ReadLinkCosts(fields);
  const PortModel ports = ReadPorts(fields);
  const std::int64_t root = fields.IntegerOr("root", 0);
  fields.Note(fields.Locate(CheckCount("root", root, 0, p - 1)));
  if (!fields.status().ok()) return fields.status();
  if (root != 0 && root != p - 1) {
    return fields.Error(
        "root", absl::StrCat("is ", root, "; ", method,
                             " keeps the order only with the root at an end, 0 or ", p - 1));
  }
  auto schedule = build(p, units, costs, ports);
  if (!schedule.ok()) return schedule.status();
  Collective collective{*std::move(schedule), ports, {}, kNoTransferLimit, {}};
  if (root == 0) return collective;
  std::vector<MachineIndex> name(static_cast<std::size_t>(p));
  std::iota(name.rbegin(), name.rend(), 0);
  RenameMachines(name, collective.reduction);
  return collective;
}

absl::StatusOr<Collective> PlanOrderedPipeline(InstanceFields& fields) {
  return PlanOrdered(fields, "the ordered pipeline", OrderedPipeline);
}

absl::StatusOr<Collective> PlanOrderedTwoTree(InstanceFields& fields) {
  return PlanOrdered(fields, "the ordered two-tree", OrderedTwoTree);
}

}  // namespace

const std::vector<InstanceSolver>& OperandOrderSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"order_preserving_preorder", SolvePreorder, nullptr},
      {"ordered_tree", nullptr, PlanOrderedTree},
      {"ordered_pipeline", nullptr, PlanOrderedPipeline},
      {"ordered_two_tree", nullptr, PlanOrderedTwoTree},
  };
  return solvers;
}

}  // namespace weir::planner::tree
