#include "planner/tree/write/tree_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/order/transfer_orders.h"
#include "planner/order/whole_bytes.h"
#include "planner/tree/hosts/host_times.h"
#include "planner/tree/hosts/message_runs.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/write/reduction_writer.h"

namespace weir::planner::tree {

namespace {

absl::Status CheckElements(const Schedule& schedule, absl::Span<const StepIndex> elements,
                           const Plan& plan) {
  if (elements.size() != static_cast<std::size_t>(schedule.num_machines)) {
    return absl::InvalidArgumentError(absl::StrCat("elements has ", elements.size(),
                                                   " steps; the schedule has ",
                                                   schedule.num_machines, " machines"));
  }
  std::set<WorkerIndex> workers;
  for (StepIndex element : elements) {
    if (element < 0 || static_cast<std::size_t>(element) >= plan.steps.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("elements names step ", element, " of ", plan.steps.size()));
    }
    const WorkerIndex worker = plan.steps[static_cast<std::size_t>(element)].worker;
    if (worker < 0 || worker >= plan.network.num_workers || !workers.insert(worker).second) {
      return absl::InvalidArgumentError(absl::StrCat("elements names step ", element, " on worker ",
                                                     worker,
                                                     ", which does not exist or has another one"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPlaces(Bytes element_bytes, Bytes place_bytes) {
  if (place_bytes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("place_bytes is ", place_bytes, "; it must be at least 1"));
  }
  if (element_bytes < 0 || element_bytes % place_bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("element_bytes is ", element_bytes,
                     "; it must not be negative, and a multiple of place_bytes, ", place_bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const ReductionOptions& options, std::int32_t num_machines) {
  const auto machines = static_cast<std::size_t>(num_machines);
  for (const auto& [name, size] : {std::pair("combine_slowdown", options.combine_slowdown.size()),
                                   std::pair("ready_s", options.ready_s.size())}) {
    if (size == 0 || size == machines) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has ", size, " entries; the schedule has ", num_machines, " machines"));
  }
  for (std::size_t i = 0; i < options.combine_slowdown.size(); ++i) {
    const double slowdown = options.combine_slowdown[i];
    if (slowdown > 0 && slowdown <= kPlanValueMax) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("combine_slowdown[", i, "] is ", slowdown, "; it must be above 0 and finite"));
  }
  return CheckCosts("ready_s", options.ready_s);
}

absl::Status CheckTimes(absl::Span<const MessageTimes> times, std::size_t num_messages) {
  if (times.empty()) return absl::OkStatus();
  if (times.size() != num_messages) {
    return absl::InvalidArgumentError(absl::StrCat(
        "times has ", times.size(), " entries; there are ", num_messages, " messages"));
  }
  for (std::size_t k = 0; k < times.size(); ++k) {
    for (const Seconds value_s :
         {times[k].start_s, times[k].transfer_s, times[k].combine_begin_s, times[k].combine_s}) {
      if (value_s >= 0 && value_s <= kPlanValueMax) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("times[", k, "] has ", value_s, " s; it must be finite and not negative"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSpread(const SpreadSchedule& spread, StepIndex result,
                         absl::Span<const WorkerIndex> workers, const Plan& plan) {
  if (workers.size() != spread.informed.size() || spread.sender.size() != workers.size() ||
      spread.start_s.size() != workers.size()) {
    return absl::InvalidArgumentError(absl::StrCat("workers has ", workers.size(),
                                                   " entries; the broadcast informs ",
                                                   spread.informed.size()));
  }
  if (result < 0 || static_cast<std::size_t>(result) >= plan.steps.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("result is step ", result, " of ", plan.steps.size()));
  }
  std::set<WorkerIndex> informed_workers = {plan.steps[static_cast<std::size_t>(result)].worker};
  for (const WorkerIndex worker : workers) {
    if (worker >= 0 && worker < plan.network.num_workers && informed_workers.insert(worker).second)
      continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "workers names worker ", worker, ", which does not exist or is informed otherwise"));
  }
  std::vector<bool> informed(workers.size(), false);
  const auto exists = [&](MachineIndex i) {
    return i >= 0 && static_cast<std::size_t>(i) < informed.size();
  };
  for (std::size_t k = 0; k < spread.informed.size(); ++k) {
    const MachineIndex sender = spread.sender[k];
    const MachineIndex machine = spread.informed[k];
    if (!exists(machine) || informed[static_cast<std::size_t>(machine)] ||
        (sender != kNoMachine &&
         (!exists(sender) || !informed[static_cast<std::size_t>(sender)]))) {
      return absl::InvalidArgumentError(
          absl::StrCat("spread informs machine ", machine, " from machine ", sender, " in place ",
                       k, ": one does not exist, is informed twice, or is not informed yet"));
    }
    informed[static_cast<std::size_t>(machine)] = true;
  }
  return absl::OkStatus();
}

/// Places up to the end of each segment.
std::vector<std::int64_t> SegmentEnds(const Schedule& schedule, std::int64_t num_places) {
  std::vector<std::int64_t> ends = WholeBytes(num_places, schedule.segment_units);
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  return ends;
}

}  // namespace

absl::StatusOr<std::vector<StepIndex>> AppendReduction(const Schedule& schedule,
                                                       absl::Span<const StepIndex> elements,
                                                       Bytes element_bytes, Seconds begin_s,
                                                       Plan* plan,
                                                       const ReductionOptions& options) {
  if (absl::Status status = CheckNetwork(plan->network); !status.ok()) return status;
  if (absl::Status status = CheckElements(schedule, elements, *plan); !status.ok()) return status;
  if (absl::Status status = CheckPlaces(element_bytes, options.place_bytes); !status.ok())
    return status;
  if (absl::Status status = CheckOptions(options, schedule.num_machines); !status.ok())
    return status;
  if (absl::Status status = CheckTimes(options.times, schedule.messages.size()); !status.ok())
    return status;
  const absl::StatusOr<RunList> runs = FollowRuns(schedule);
  if (!runs.ok()) return runs.status();
  ReductionHosts hosts{plan->network, {}, options.combine_slowdown, {}, options.ports};
  for (const StepIndex element : elements) {
    hosts.workers.push_back(plan->steps[static_cast<std::size_t>(element)].worker);
  }
  for (const Seconds ready_s : options.ready_s) {
    hosts.ready_s.push_back(std::max(0.0, ready_s - begin_s));
  }
  const ElementPlaces places{SegmentEnds(schedule, element_bytes / options.place_bytes),
                             options.place_bytes};
  return WriteReduction(schedule, *runs, hosts, places, begin_s, elements, options, plan);
}

absl::StatusOr<std::vector<StepIndex>> AppendBroadcast(
    const SpreadSchedule& spread, StepIndex result, absl::Span<const WorkerIndex> workers,
    Bytes element_bytes, Seconds begin_s, Plan* plan, Bytes place_bytes,
    absl::Span<const MessageTimes> times, std::optional<std::int32_t> first_number) {
  if (absl::Status status = CheckTimes(times, spread.informed.size()); !status.ok()) return status;
  if (absl::Status status = CheckPlaces(element_bytes, place_bytes); !status.ok()) return status;
  if (absl::Status status = CheckSpread(spread, result, workers, *plan); !status.ok())
    return status;
  std::int32_t next_combine = first_number ? *first_number : NextCombineIndex(*plan, 1);
  std::vector<StepIndex> received(workers.size(), kNoIndex);
  for (std::size_t k = 0; k < spread.informed.size(); ++k) {
    const auto informed = static_cast<std::size_t>(spread.informed[k]);
    const StepIndex producer = spread.sender[k] == kNoMachine
                                   ? result
                                   : received[static_cast<std::size_t>(spread.sender[k])];
    received[informed] = static_cast<StepIndex>(plan->steps.size());
    Transfer transfer;
    transfer.producer = producer;
    transfer.consumer = received[informed];
    transfer.sender = plan->steps[static_cast<std::size_t>(producer)].worker;
    transfer.receiver = workers[informed];
    transfer.bytes = element_bytes;
    transfer.start_s = begin_s + spread.start_s[k];
    ComputeStep step;
    step.kind = StepKind::kCombine;
    step.layer = 1;
    step.index_in_layer = next_combine++;
    step.worker = workers[informed];
    step.input_bytes = element_bytes;
    step.output_bytes = element_bytes;
    step.start_s = transfer.start_s;
    if (!times.empty()) {
      step.start_s = begin_s + times[k].combine_begin_s;
      step.release_s = step.start_s;
      step.duration_s = times[k].combine_s;
    }
    step.after_transfers = {static_cast<TransferIndex>(plan->transfers.size())};
    plan->transfers.push_back(transfer);
    plan->sections.push_back(
        {producer, received[informed], element_bytes, IndexRange{0, element_bytes / place_bytes}});
    plan->steps.push_back(std::move(step));
    if (plan->compute_order.size() == static_cast<std::size_t>(plan->network.num_workers)) {
      plan->compute_order[static_cast<std::size_t>(workers[informed])].push_back(
          received[informed]);
    }
  }
  return received;
}

NetworkModel NetworkOf(const LinkCosts& costs, std::int32_t num_machines, double units,
                       Bytes element_bytes) {
  NetworkModel network;
  network.num_workers = num_machines;
  network.latency_s = costs.alpha_s;
  network.seconds_per_byte =
      element_bytes > 0 ? costs.beta_s_per_unit * units / static_cast<double>(element_bytes) : 0;
  return network;
}

std::vector<StepIndex> AddElements(std::int32_t num_machines, Bytes element_bytes,
                                   absl::Span<const Seconds> ready_s, Plan* plan) {
  std::vector<StepIndex> elements;
  for (MachineIndex i = 0; i < num_machines; ++i) {
    ComputeStep step;
    step.kind = StepKind::kMap;
    step.index_in_layer = i;
    step.worker = i;
    step.input_begin = element_bytes * i;
    step.input_end = element_bytes * (i + 1);
    step.input_bytes = element_bytes;
    step.output_bytes = element_bytes;
    step.release_s = ready_s.empty() ? 0 : ready_s[static_cast<std::size_t>(i)];
    step.start_s = step.release_s;
    elements.push_back(static_cast<StepIndex>(plan->steps.size()));
    plan->steps.push_back(step);
  }
  return elements;
}

absl::StatusOr<Plan> ReductionPlan(const Schedule& schedule, const NetworkModel& network,
                                   Bytes element_bytes, const std::vector<Seconds>& ready_s,
                                   const ReductionOptions& options) {
  if (network.num_workers != schedule.num_machines) {
    return absl::InvalidArgumentError(absl::StrCat("network has ", network.num_workers,
                                                   " workers; the schedule has ",
                                                   schedule.num_machines, " machines"));
  }
  const Bytes bytes_max = std::numeric_limits<Bytes>::max() / std::max(1, network.num_workers);
  if (element_bytes > bytes_max) {
    return absl::InvalidArgumentError(absl::StrCat("element_bytes is ", element_bytes,
                                                   "; it must be at most ", bytes_max, " on ",
                                                   network.num_workers, " machines"));
  }
  if (absl::Status status = CheckPlaces(element_bytes, options.place_bytes); !status.ok())
    return status;
  ReductionOptions all = options;
  if (!ready_s.empty()) all.ready_s = ready_s;
  if (absl::Status status = CheckOptions(all, schedule.num_machines); !status.ok()) return status;
  Plan plan;
  plan.network = network;
  plan.transfer_order = TransferOrder::kStrict;
  const std::vector<StepIndex> elements =
      AddElements(schedule.num_machines, element_bytes, all.ready_s, &plan);
  for (const StepIndex element : elements) plan.compute_order.push_back({element});
  auto results = AppendReduction(schedule, elements, element_bytes, 0, &plan, all);
  if (!results.ok()) return results.status();
  plan.summary.method = schedule.method;
  if (absl::Status status = OrderByStart(&plan); !status.ok()) return status;
  return plan;
}

}  // namespace weir::planner::tree
