#include "planner/tree/tree_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/order/transfer_orders.h"
#include "planner/order/whole_bytes.h"
#include "planner/tree/schedule_timing.h"

namespace weir::planner::tree {

namespace {

/// Bytes that one step contributes to a message, by step.
using BytesByStep = std::map<StepIndex, Bytes>;

/// Adds steps, transfers and sections while following which step made which segment where.
class ReductionWriter {
 public:
  ReductionWriter(const Schedule& schedule, absl::Span<const StepIndex> elements,
                  Bytes element_bytes, Seconds begin_s, absl::Span<const StepTiming> timing,
                  Plan* plan)
      : schedule_(schedule),
        begin_s_(begin_s),
        timing_(timing),
        plan_(*plan),
        segment_bytes_(WholeBytes(element_bytes, schedule.segment_units)) {
    for (StepIndex element : elements) {
      workers_.push_back(plan_.steps[element].worker);
      made_by_.emplace_back(segment_bytes_.size(), element);
    }
    // Combine steps are numbered on from those that the plan already has.
    for (const ComputeStep& step : plan_.steps) {
      if (step.kind->own_order) next_combine_ = std::max(next_combine_, step.index_in_layer + 1);
    }
  }

  void Add(const Message& message) {
    BytesByStep sent = HeldBytes(message.sender, message);
    if (sent.size() > 1) sent = Packed(sent, message);
    const BytesByStep held = HeldBytes(message.receiver, message);
    const auto consumer = static_cast<StepIndex>(plan_.steps.size());
    ComputeStep step = NewCombine(workers_[message.receiver]);
    step.duration_s = message.combine_s;
    if (!timing_.empty()) {
      const StepTiming& timing = timing_[num_messages_];
      step.duration_s = timing.duration_s;
      step.start_s = begin_s_ + timing.start_s;
      if (timing.held) step.release_s = step.start_s;
    }
    ++num_messages_;
    for (std::int32_t k = message.segment_begin; k < message.segment_end; ++k) {
      const std::size_t j = static_cast<std::size_t>(k) % segment_bytes_.size();
      step.output_bytes += segment_bytes_[j];
    }
    for (const auto& [producer, bytes] : held) {
      step.after_steps.push_back(producer);
      step.input_bytes += bytes;
      plan_.sections.push_back({producer, consumer, bytes});
    }
    for (const auto& [producer, bytes] : sent) {
      step.after_transfers.push_back(static_cast<TransferIndex>(plan_.transfers.size()));
      step.input_bytes += bytes;
      plan_.sections.push_back({producer, consumer, bytes});
      AddTransfer(producer, consumer, bytes, message);
    }
    Push(std::move(step));
    for (std::int32_t k = message.segment_begin; k < message.segment_end; ++k) {
      const std::size_t j = static_cast<std::size_t>(k) % segment_bytes_.size();
      made_by_[message.receiver][j] = consumer;
      made_by_[message.sender][j] = kNoIndex;
    }
  }

  std::vector<StepIndex> Results() const {
    std::vector<StepIndex> results;
    for (StepIndex step : made_by_[schedule_.root]) {
      if (std::find(results.begin(), results.end(), step) == results.end()) results.push_back(step);
    }
    return results;
  }

 private:
  ComputeStep NewCombine(WorkerIndex worker) {
    ComputeStep step;
    step.kind = StepKind::kCombine;
    step.layer = 1;
    step.index_in_layer = next_combine_++;
    step.worker = worker;
    return step;
  }

  void Push(ComputeStep step) {
    if (plan_.compute_order.size() == static_cast<std::size_t>(plan_.network.num_workers)) {
      plan_.compute_order[step.worker].push_back(static_cast<StepIndex>(plan_.steps.size()));
    }
    plan_.steps.push_back(std::move(step));
  }

  // One run of what several steps of the sender made.
  BytesByStep Packed(const BytesByStep& parts, const Message& message) {
    const auto pack = static_cast<StepIndex>(plan_.steps.size());
    ComputeStep step = NewCombine(workers_[message.sender]);
    step.start_s = begin_s_ + message.start_s;
    for (const auto& [producer, bytes] : parts) {
      step.after_steps.push_back(producer);
      step.input_bytes += bytes;
      plan_.sections.push_back({producer, pack, bytes});
    }
    step.output_bytes = step.input_bytes;
    const Bytes total = step.input_bytes;
    Push(std::move(step));
    return {{pack, total}};
  }

  BytesByStep HeldBytes(MachineIndex machine, const Message& message) const {
    BytesByStep bytes;
    for (std::int32_t k = message.segment_begin; k < message.segment_end; ++k) {
      const std::size_t j = static_cast<std::size_t>(k) % segment_bytes_.size();
      if (made_by_[machine][j] != kNoIndex) bytes[made_by_[machine][j]] += segment_bytes_[j];
    }
    return bytes;
  }

  void AddTransfer(StepIndex producer, StepIndex consumer, Bytes bytes, const Message& message) {
    Transfer transfer;
    transfer.producer = producer;
    transfer.consumer = consumer;
    transfer.sender = workers_[message.sender];
    transfer.receiver = workers_[message.receiver];
    transfer.bytes = bytes;
    transfer.start_s = begin_s_ + message.start_s;
    plan_.transfers.push_back(transfer);
  }

  const Schedule& schedule_;
  Seconds begin_s_;
  absl::Span<const StepTiming> timing_;
  std::size_t num_messages_ = 0;
  Plan& plan_;
  std::vector<Bytes> segment_bytes_;
  std::vector<WorkerIndex> workers_;
  std::vector<std::vector<StepIndex>> made_by_;  // [machine][segment]; kNoIndex once sent
  std::int32_t next_combine_ = 0;
};

absl::Status CheckElements(const Schedule& schedule, absl::Span<const StepIndex> elements,
                           Bytes element_bytes, const Plan& plan) {
  if (elements.size() != static_cast<std::size_t>(schedule.num_machines)) {
    return absl::InvalidArgumentError(absl::StrCat("elements has ", elements.size(),
                                                   " steps; the schedule has ",
                                                   schedule.num_machines, " machines"));
  }
  std::set<WorkerIndex> workers;
  for (StepIndex element : elements) {
    if (element < 0 || static_cast<std::size_t>(element) >= plan.steps.size() ||
        !workers.insert(plan.steps[element].worker).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "elements names step ", element, ", which does not exist or shares its worker"));
    }
  }
  if (element_bytes < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("element_bytes is ", element_bytes, "; it must not be negative"));
  }
  return absl::OkStatus();
}

absl::Status CheckTiming(absl::Span<const StepTiming> timing, std::size_t num_messages) {
  if (timing.empty() || timing.size() == num_messages) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "timing has ", timing.size(), " entries; there are ", num_messages, " messages"));
}

}  // namespace

absl::StatusOr<std::vector<StepIndex>> AppendReduction(const Schedule& schedule,
                                                       absl::Span<const StepIndex> elements,
                                                       Bytes element_bytes, Seconds begin_s,
                                                       Plan* plan,
                                                       absl::Span<const StepTiming> timing) {
  if (absl::Status status = CheckElements(schedule, elements, element_bytes, *plan); !status.ok())
    return status;
  if (absl::Status status = CheckTiming(timing, schedule.messages.size()); !status.ok())
    return status;
  ReductionWriter writer(schedule, elements, element_bytes, begin_s, timing, plan);
  for (const Message& message : schedule.messages) writer.Add(message);
  return writer.Results();
}

absl::StatusOr<std::vector<StepIndex>> AppendBroadcast(
    const SpreadSchedule& spread, StepIndex result, absl::Span<const WorkerIndex> workers,
    Bytes element_bytes, Seconds begin_s, Plan* plan, absl::Span<const StepTiming> timing) {
  if (absl::Status status = CheckTiming(timing, spread.informed.size()); !status.ok())
    return status;
  if (workers.size() != spread.informed.size()) {
    return absl::InvalidArgumentError(absl::StrCat("workers has ", workers.size(),
                                                   " entries; the broadcast informs ",
                                                   spread.informed.size()));
  }
  std::int32_t next_combine = 0;
  for (const ComputeStep& step : plan->steps) {
    if (step.kind->own_order) next_combine = std::max(next_combine, step.index_in_layer + 1);
  }
  std::vector<StepIndex> received(workers.size(), kNoIndex);
  for (std::size_t k = 0; k < spread.informed.size(); ++k) {
    const MachineIndex informed = spread.informed[k];
    const StepIndex producer = spread.sender[k] == kNoMachine ? result : received[spread.sender[k]];
    received[informed] = static_cast<StepIndex>(plan->steps.size());
    Transfer transfer;
    transfer.producer = producer;
    transfer.consumer = received[informed];
    transfer.sender = plan->steps[producer].worker;
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
    step.after_transfers = {static_cast<TransferIndex>(plan->transfers.size())};
    if (!timing.empty()) {
      step.duration_s = timing[k].duration_s;
      step.start_s = begin_s + timing[k].start_s;
      if (timing[k].held) step.release_s = step.start_s;
    }
    plan->transfers.push_back(transfer);
    plan->sections.push_back({producer, received[informed], element_bytes});
    plan->steps.push_back(std::move(step));
    if (plan->compute_order.size() == static_cast<std::size_t>(plan->network.num_workers)) {
      plan->compute_order[workers[informed]].push_back(received[informed]);
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

absl::StatusOr<Plan> ReductionPlan(const Schedule& schedule, const NetworkModel& network,
                                   Bytes element_bytes, const std::vector<Seconds>& ready_s) {
  if (network.num_workers != schedule.num_machines) {
    return absl::InvalidArgumentError(absl::StrCat("network has ", network.num_workers,
                                                   " workers; the schedule has ",
                                                   schedule.num_machines, " machines"));
  }
  if (!ready_s.empty() && ready_s.size() != static_cast<std::size_t>(schedule.num_machines)) {
    return absl::InvalidArgumentError(absl::StrCat("ready_s has ", ready_s.size(),
                                                   " entries; the schedule has ",
                                                   schedule.num_machines, " machines"));
  }
  Plan plan;
  plan.network = network;
  plan.transfer_order = TransferOrder::kStrict;
  std::vector<StepIndex> elements;
  for (MachineIndex i = 0; i < schedule.num_machines; ++i) {
    ComputeStep step;
    step.kind = StepKind::kMap;
    step.index_in_layer = i;
    step.worker = i;
    step.input_begin = element_bytes * i;
    step.input_end = element_bytes * (i + 1);
    step.input_bytes = element_bytes;
    step.output_bytes = element_bytes;
    step.release_s = ready_s.empty() ? 0 : ready_s[i];
    step.start_s = step.release_s;
    elements.push_back(i);
    plan.steps.push_back(step);
  }
  // Steps go by planned start, not in list order: what a machine only keeps delays no combining.
  std::vector<StepTiming> timing;
  for (const Seconds end_s : CombineEnds(schedule, PortModel{true, true, true})) {
    const Seconds duration_s = schedule.messages[timing.size()].combine_s;
    timing.push_back({std::max(0.0, end_s - duration_s), duration_s, false});
  }
  auto results = AppendReduction(schedule, elements, element_bytes, 0, &plan, timing);
  if (!results.ok()) return results.status();
  plan.summary.method = schedule.method;
  if (absl::Status status = OrderByStart(&plan); !status.ok()) return status;
  return plan;
}

}  // namespace weir::planner::tree
