#include "planner/instances/solvers/print_collective.h"

#include <utility>

#include "planner/tree/choice/operand_order.h"

namespace weir::planner::tree {

namespace {

/// Cells (machines by segments) up to which operand ranges are followed.
constexpr std::size_t kOrderCellsMax = 1 << 22;

void PrintOrder(const Schedule& reduction, ResultJson* result) {
  const auto machines = static_cast<std::size_t>(reduction.num_machines);
  if (machines * reduction.segment_units.size() > kOrderCellsMax) return;
  const absl::Status kept = CheckOrderPreserved(reduction);
  (*result)["keeps_order"] = kept.ok();
  if (!kept.ok()) (*result)["order_refusal"] = std::string(kept.message());
}

}  // namespace

ResultJson PrintCollective(const Collective& collective) {
  const Schedule& reduction = collective.reduction;
  ResultJson result = {{"makespan", CollectiveMakespan(collective)},
                       {"method", reduction.method},
                       {"segments", reduction.segment_units.size()}};
  if (!reduction.messages.empty()) PrintOrder(reduction, &result);
  const Schedule all = AllMessages(collective);
  if (all.messages.size() > kPrintedMessagesMax) return result;
  ResultJson messages = ResultJson::array();
  for (const Message& message : all.messages) {
    ResultJson printed = {{"segment", message.segment_begin},
                          {"sender", message.sender},
                          {"receiver", message.receiver},
                          {"start", message.start_s}};
    if (message.segment_end - message.segment_begin > 1) {
      printed["num_segments"] = message.segment_end - message.segment_begin;
    }
    messages.push_back(std::move(printed));
  }
  result["messages"] = std::move(messages);
  return result;
}

ResultJson PrintTree(const TimedTree& tree) {
  ResultJson result = {{"makespan", tree.makespan_s}};
  if (tree.receiver.size() > kPrintedMessagesMax) return result;
  ResultJson child = ResultJson::array();
  ResultJson start = ResultJson::array();
  for (std::size_t i = 1; i < tree.receiver.size(); ++i) {
    child.push_back(tree.receiver[i] + 1);
    start.push_back(tree.start_s[i]);
  }
  result["child"] = std::move(child);
  result["start"] = std::move(start);
  return result;
}

}  // namespace weir::planner::tree
