#include "planner/plan/plan_structure.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "planner/plan/check_store.h"
#include "planner/plan/cut_lanes.h"

namespace weir::planner {
namespace {

bool IsIndexInto(std::int32_t index, std::size_t size) {
  return index >= 0 && static_cast<std::size_t>(index) < size;
}

bool IsDuration(Seconds seconds) { return seconds >= 0 && seconds <= kPlanValueMax; }

absl::Status CheckStep(const Plan& plan, std::size_t index) {
  const ComputeStep& step = plan.steps[index];
  if (step.worker < 0 || step.worker >= plan.network.num_workers) {
    return Invalid("Step ", index, " names a worker that does not exist: ", step.worker, " of ",
                   plan.network.num_workers);
  }
  if (step.layer < 0 || step.index_in_layer < 0) {
    return Invalid("Step ", index, " has a negative position: layer ", step.layer, ", index ",
                   step.index_in_layer);
  }
  if (step.input_begin < 0 || step.input_end < step.input_begin || step.input_bytes < 0 ||
      step.output_bytes < 0) {
    return Invalid("Step ", index, " has a negative size: input [", step.input_begin, ", ",
                   step.input_end, "), input_bytes ", step.input_bytes, ", output_bytes ",
                   step.output_bytes);
  }
  if (!IsDuration(step.release_s) || !IsDuration(step.duration_s) || !IsDuration(step.start_s)) {
    return Invalid("Step ", index, " has a time outside [0, 1e100]: release ", step.release_s,
                   ", start ", step.start_s, ", duration ", step.duration_s);
  }
  if (step.spilled_bytes < 0 || !IsDuration(step.spill_s)) {
    return Invalid("Step ", index,
                   " puts a negative size on disk or takes a time outside [0, 1e100]",
                   " for it: ", step.spilled_bytes, " bytes, ", step.spill_s, " s");
  }
  for (const StepIndex before : step.after_steps) {
    if (!IsIndexInto(before, plan.steps.size())) {
      return Invalid("Step ", index, " waits for a step that does not exist: ", before, " of ",
                     plan.steps.size());
    }
    const WorkerIndex other = plan.steps[static_cast<std::size_t>(before)].worker;
    if (other != step.worker) {
      return Invalid("Step ", index, " on worker ", step.worker, " reads step ", before,
                     " in place, which is on worker ", other);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTransfer(const Plan& plan, std::size_t index) {
  const Transfer& transfer = plan.transfers[index];
  if (!IsIndexInto(transfer.producer, plan.steps.size()) ||
      !IsIndexInto(transfer.consumer, plan.steps.size())) {
    return Invalid("Transfer ", index, " names a step that does not exist: producer ",
                   transfer.producer, ", consumer ", transfer.consumer, " of ", plan.steps.size());
  }
  const WorkerIndex from = plan.steps[static_cast<std::size_t>(transfer.producer)].worker;
  const WorkerIndex to = plan.steps[static_cast<std::size_t>(transfer.consumer)].worker;
  if (transfer.sender != from || transfer.receiver != to) {
    return Invalid("Transfer ", index, " goes from worker ", transfer.sender, " to ",
                   transfer.receiver, ", but its steps are on workers ", from, " and ", to);
  }
  if (from == to) {
    return Invalid("Transfer ", index, " stays on worker ", from,
                   "; a section between steps of one worker is handed over in place");
  }
  if (transfer.offset < 0 || transfer.bytes < 0 ||
      transfer.bytes > std::numeric_limits<Bytes>::max() - transfer.offset) {
    return Invalid("Transfer ", index, " has a bad range: offset ", transfer.offset, ", bytes ",
                   transfer.bytes);
  }
  if (!IsDuration(transfer.start_s) || !IsDuration(transfer.duration_s)) {
    return Invalid("Transfer ", index, " has a time outside [0, 1e100]: start ", transfer.start_s,
                   ", duration ", transfer.duration_s);
  }
  return absl::OkStatus();
}

// Every transfer stands exactly once in after_transfers of its consumer, and nowhere else.
absl::Status CheckDependencies(const Plan& plan) {
  std::vector<bool> awaited(plan.transfers.size(), false);
  for (std::size_t index = 0; index < plan.steps.size(); ++index) {
    for (const TransferIndex transfer : plan.steps[index].after_transfers) {
      if (!IsIndexInto(transfer, plan.transfers.size())) {
        return Invalid("Step ", index, " waits for a transfer that does not exist: ", transfer,
                       " of ", plan.transfers.size());
      }
      const auto position = static_cast<std::size_t>(transfer);
      const StepIndex consumer = plan.transfers[position].consumer;
      if (static_cast<std::size_t>(consumer) != index) {
        return Invalid("Step ", index, " waits for transfer ", transfer,
                       ", whose consumer is step ", consumer);
      }
      if (awaited[position]) {
        return Invalid("Step ", index, " waits twice for transfer ", transfer);
      }
      awaited[position] = true;
    }
  }
  for (std::size_t index = 0; index < awaited.size(); ++index) {
    if (!awaited[index]) {
      return Invalid("Transfer ", index, " is missing in after_transfers of its consumer, step ",
                     plan.transfers[index].consumer);
    }
  }
  return absl::OkStatus();
}

// Holds the lists of one kind, one list a worker, against the worker that each item belongs to.
class OrderLists {
 public:
  OrderLists(absl::string_view list_name, absl::string_view item_name)
      : list_name_(list_name), item_name_(item_name) {}

  template <typename WorkerOf>
  absl::Status Check(const std::vector<std::vector<std::int32_t>>& lists, std::size_t num_workers,
                     std::size_t num_items, WorkerOf worker_of) const {
    if (lists.size() != num_workers) {
      return Invalid(list_name_, " has ", lists.size(), " lists; must be one a worker, ",
                     num_workers);
    }
    std::vector<bool> seen(num_items, false);
    for (std::size_t worker = 0; worker < lists.size(); ++worker) {
      for (const std::int32_t item : lists[worker]) {
        if (!IsIndexInto(item, num_items)) {
          return Invalid(list_name_, "[", worker, "] names a ", item_name_,
                         " that does not exist: ", item, " of ", num_items);
        }
        const auto position = static_cast<std::size_t>(item);
        if (static_cast<std::size_t>(worker_of(position)) != worker) {
          return Invalid(list_name_, "[", worker, "] holds ", item_name_, " ", item,
                         ", which belongs to worker ", worker_of(position));
        }
        if (seen[position]) {
          return Invalid(list_name_, "[", worker, "] holds ", item_name_, " ", item, " twice");
        }
        seen[position] = true;
      }
    }
    for (std::size_t item = 0; item < num_items; ++item) {
      if (!seen[item]) {
        return Invalid(list_name_, "[", worker_of(item), "] lacks ", item_name_, " ", item);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::string_view list_name_;
  absl::string_view item_name_;
};

// A transfer stands in as many lanes as it takes of every cut that it crosses, and in no other cut.
absl::Status CheckLanesOfCut(const Plan& plan, const CutLanes& lanes, std::size_t cut_index) {
  const Cut& cut = plan.network.cuts[cut_index];
  const auto& orders = plan.channel_order[cut_index];
  if (static_cast<std::int64_t>(orders.size()) > lanes.Of(cut)) {
    return Invalid("channel_order[", cut_index, "] has ", orders.size(), " lanes; cut ", cut.name,
                   " has ", lanes.Of(cut));
  }
  std::vector<std::int32_t> places(plan.transfers.size(), 0);
  std::vector<std::size_t> last_lane(plan.transfers.size(), orders.size());
  for (std::size_t lane = 0; lane < orders.size(); ++lane) {
    for (const TransferIndex item : orders[lane]) {
      if (!IsIndexInto(item, plan.transfers.size())) {
        return Invalid("channel_order[", cut_index, "][", lane,
                       "] names a transfer that does not exist: ", item, " of ",
                       plan.transfers.size());
      }
      const auto position = static_cast<std::size_t>(item);
      const Transfer& transfer = plan.transfers[position];
      if (!cut.Crosses(transfer.sender, transfer.receiver)) {
        return Invalid("channel_order[", cut_index, "][", lane, "] holds transfer ", item,
                       " from worker ", transfer.sender, " to ", transfer.receiver,
                       ", which does not cross cut ", cut.name);
      }
      if (last_lane[position] == lane) {
        return Invalid("channel_order[", cut_index, "][", lane, "] holds transfer ", item,
                       " twice");
      }
      last_lane[position] = lane;
      ++places[position];
    }
  }
  const bool shared = !IsOrdered(plan.transfer_order);
  for (std::size_t item = 0; item < places.size(); ++item) {
    const Transfer& transfer = plan.transfers[item];
    if (!cut.Crosses(transfer.sender, transfer.receiver)) continue;
    if (shared && places[item] == 0) continue;
    if (places[item] == 0) {
      return Invalid("channel_order[", cut_index, "] lacks transfer ", item, " from worker ",
                     transfer.sender, " to ", transfer.receiver, ", which crosses cut ", cut.name);
    }
    const std::int32_t taken = lanes.Taken(transfer.sender, transfer.receiver);
    if (places[item] != taken) {
      return Invalid("channel_order[", cut_index, "] holds transfer ", item, " in ", places[item],
                     " lanes; from worker ", transfer.sender, " to ", transfer.receiver,
                     " it takes ", taken, " of ", lanes.per_channel(), " a channel");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckComputeOrder(const Plan& plan) {
  return OrderLists("compute_order", "step")
      .Check(plan.compute_order, static_cast<std::size_t>(plan.network.num_workers),
             plan.steps.size(), [&](std::size_t i) { return plan.steps[i].worker; });
}

absl::Status CheckTransferOrders(const Plan& plan) {
  const auto num_workers = static_cast<std::size_t>(plan.network.num_workers);
  if (absl::Status status = OrderLists("send_order", "transfer")
                                .Check(plan.send_order, num_workers, plan.transfers.size(),
                                       [&](std::size_t i) { return plan.transfers[i].sender; });
      !status.ok()) {
    return status;
  }
  if (absl::Status status = OrderLists("receive_order", "transfer")
                                .Check(plan.receive_order, num_workers, plan.transfers.size(),
                                       [&](std::size_t i) { return plan.transfers[i].receiver; });
      !status.ok()) {
    return status;
  }
  if (plan.channel_order.size() != plan.network.cuts.size()) {
    return Invalid("channel_order has ", plan.channel_order.size(), " entries; must be one a cut, ",
                   plan.network.cuts.size());
  }
  const CutLanes lanes(plan.network);
  for (std::size_t cut = 0; cut < plan.channel_order.size(); ++cut) {
    if (absl::Status status = CheckLanesOfCut(plan, lanes, cut); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckComputeRates(const Plan& plan) {
  const std::vector<double>& rates = plan.compute_rate;
  if (!rates.empty() && rates.size() != static_cast<std::size_t>(plan.network.num_workers)) {
    return Invalid("Plan has ", rates.size(),
                   " compute rates; must have none, or one a worker: ", plan.network.num_workers);
  }
  for (std::size_t w = 0; w < rates.size(); ++w) {
    if (rates[w] >= kPlanValueMin && rates[w] <= kPlanValueMax) continue;
    return Invalid("The compute rate of worker ", w, " must be between 1e-100 and 1e100, is ",
                   rates[w]);
  }
  return absl::OkStatus();
}

absl::Status CheckPartCost(const PartCost& cost) {
  const bool in_range = cost.output_growth >= 0 && cost.output_growth <= 1 &&
                        cost.output_time >= 0 && cost.output_time <= 1;
  if (in_range) return absl::OkStatus();
  return Invalid("The cost of parts of map steps must be between 0 and 1: growth of output ",
                 cost.output_growth, ", its share of the time ", cost.output_time);
}

absl::Status CheckRate(std::size_t transfer, double rate, double carries) {
  if (rate >= kPlanValueMin && rate <= carries * (1 + kRateTolerance / 10)) {
    return absl::OkStatus();
  }
  return Invalid("Transfer ", transfer, " has a rate out of range: ", rate,
                 " bytes/s; must be above 0 and at most what its ports carry, ", carries);
}

// Plans by rates have a network whose rate is known, and for each transfer rates that its ports
// carry; others have none.
absl::Status CheckRates(const Plan& plan) {
  const bool by_rates = plan.transfer_order == TransferOrder::kRates;
  if (by_rates && plan.network.seconds_per_byte <= 0) {
    return Invalid("A plan by rates needs a network whose rate is known; seconds_per_byte is ",
                   plan.network.seconds_per_byte);
  }
  for (std::size_t index = 0; index < plan.transfers.size(); ++index) {
    const Transfer& transfer = plan.transfers[index];
    const double rate = transfer.rate_bytes_per_s;
    if (!plan.rates_over_time && !transfer.rate_changes.empty()) {
      return Invalid("Transfer ", index, " changes its rate, but rates of this plan stay");
    }
    if (!by_rates && rate == 0) continue;
    if (!by_rates) {
      return Invalid("Transfer ", index, " has a rate, ", rate, " bytes/s, but the plan has none");
    }
    const double carries = std::min(plan.network.PacedBytesPerS(transfer.sender),
                                    plan.network.PacedBytesPerS(transfer.receiver));
    if (absl::Status status = CheckRate(index, rate, carries); !status.ok()) return status;
    Seconds before_s = transfer.start_s;
    for (const RateChange& change : transfer.rate_changes) {
      absl::Status status = CheckRate(index, change.bytes_per_s, carries);
      if (!status.ok()) return status;
      if (!(change.at_s >= before_s && change.at_s <= kPlanValueMax)) {
        return Invalid("Transfer ", index, " changes its rate at ", change.at_s,
                       " s; must be after its start and the change before, ", before_s, " s");
      }
      before_s = change.at_s;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckStepsAndTransfers(const Plan& plan) {
  if (absl::Status status = CheckNetwork(plan.network); !status.ok()) return status;
  if (absl::Status status = CheckComputeRates(plan); !status.ok()) return status;
  if (absl::Status status = CheckPartCost(plan.part_cost); !status.ok()) return status;
  constexpr auto kItemsMax = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  if (plan.steps.size() > kItemsMax || plan.transfers.size() > kItemsMax - plan.steps.size()) {
    return Invalid("Plan has too many items: ", plan.steps.size(), " steps and ",
                   plan.transfers.size(), " transfers; at most ", kItemsMax, " together");
  }
  switch (plan.transfer_order) {
    case TransferOrder::kStrict:
    case TransferOrder::kOvertake:
    case TransferOrder::kFetchAll:
    case TransferOrder::kRates:
      break;
    default:
      return Invalid("Plan has an unknown transfer_order: ", static_cast<int>(plan.transfer_order));
  }
  if (plan.fetch_limit < 0 ||
      (plan.fetch_limit > 0 && plan.transfer_order != TransferOrder::kFetchAll)) {
    return Invalid("Plan has fetch_limit ", plan.fetch_limit,
                   "; must be 0 (none), or 1 or more in a plan whose receivers fetch from all");
  }
  if (plan.port_lanes < 0 || plan.port_lanes == 1 ||
      (plan.port_lanes > 0 && plan.transfer_order != TransferOrder::kRates)) {
    return Invalid("Plan has port_lanes ", plan.port_lanes,
                   "; must be 0 (none), or 2 or more in a plan by rates");
  }
  if (plan.rates_over_time &&
      (plan.transfer_order != TransferOrder::kRates || plan.port_lanes > 0)) {
    return Invalid(
        "Plan has rates that change over time; only a plan by rates without port_lanes may");
  }
  for (std::size_t index = 0; index < plan.steps.size(); ++index) {
    if (absl::Status status = CheckStep(plan, index); !status.ok()) return status;
  }
  for (std::size_t index = 0; index < plan.transfers.size(); ++index) {
    if (absl::Status status = CheckTransfer(plan, index); !status.ok()) return status;
  }
  if (absl::Status status = CheckRates(plan); !status.ok()) return status;
  return CheckDependencies(plan);
}

}  // namespace

absl::Status CheckItems(const Plan& plan) {
  absl::Status status = CheckStepsAndTransfers(plan);
  if (status.ok() && !plan.compute_order.empty()) status = CheckComputeOrder(plan);
  return status;
}

absl::Status CheckStructure(const Plan& plan) {
  if (absl::Status status = CheckStepsAndTransfers(plan); !status.ok()) return status;
  if (absl::Status status = CheckComputeOrder(plan); !status.ok()) return status;
  if (absl::Status status = CheckStoreOrder(plan); !status.ok()) return status;
  return CheckTransferOrders(plan);
}

}  // namespace weir::planner
