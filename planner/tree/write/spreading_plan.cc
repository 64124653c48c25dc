#include "planner/tree/write/spreading_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/order/transfer_orders.h"
#include "planner/order/whole_bytes.h"
#include "planner/tree/write/tree_plan.h"

namespace weir::planner::tree {
namespace {

/// What a machine holds of one segment.
struct Held {
  StepIndex maker = kNoIndex;
  /// Lowest machine whose element is in it.
  MachineIndex first = 0;
};

/// Neighbouring segments that one step made.
struct Run {
  Held held;
  std::int32_t segment_begin = 0;
  std::int32_t segment_end = 0;
};

class SpreadingWriter {
 public:
  SpreadingWriter(const SpreadingSchedule& collective, Bytes element_bytes, Bytes place_bytes,
                  Plan* plan)
      : collective_(collective), place_bytes_(place_bytes), plan_(*plan) {
    const Schedule& schedule = collective.schedule;
    segment_end_ = WholeBytes(element_bytes / place_bytes, schedule.segment_units);
    std::partial_sum(segment_end_.begin(), segment_end_.end(), segment_end_.begin());
    const std::vector<StepIndex> elements =
        AddElements(schedule.num_machines, element_bytes, {}, &plan_);
    for (MachineIndex i = 0; i < schedule.num_machines; ++i) {
      held_.emplace_back(schedule.segment_units.size(), Held{elements[At(i)], i});
    }
  }

  absl::Status Write() {
    const std::vector<Message>& messages = collective_.schedule.messages;
    for (std::size_t k = 0; k < messages.size(); ++k) {
      if (absl::Status status = AddMessage(messages[k], collective_.spreads[k]); !status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("message ", k, ": ", status.message()));
      }
    }
    return absl::OkStatus();
  }

 private:
  IndexRange PlacesOf(std::int32_t segment_begin, std::int32_t segment_end) const {
    const auto border = [&](std::int32_t segment) {
      return segment == 0 ? 0 : segment_end_[static_cast<std::size_t>(segment - 1)];
    };
    return {border(segment_begin), border(segment_end)};
  }

  /// The message's segments, cut where they wrap around.
  std::vector<std::pair<std::int32_t, std::int32_t>> Parts(const Message& message) const {
    const auto num_segments = static_cast<std::int32_t>(segment_end_.size());
    const std::int32_t begin = message.segment_begin % num_segments;
    const std::int32_t end = begin + message.segment_end - message.segment_begin;
    if (end <= num_segments) return {{begin, end}};
    return {{begin, num_segments}, {0, end - num_segments}};
  }

  /// What the machine holds of [begin, end), in runs of one maker and one operand.
  std::vector<Run> RunsOf(MachineIndex machine, std::int32_t begin, std::int32_t end) const {
    std::vector<Run> runs;
    for (std::int32_t j = begin; j < end; ++j) {
      const Held& held = held_[At(machine)][At(j)];
      if (held.maker == kNoIndex) continue;
      if (!runs.empty() && runs.back().segment_end == j && runs.back().held.maker == held.maker &&
          runs.back().held.first == held.first) {
        ++runs.back().segment_end;
      } else {
        runs.push_back({held, j, j + 1});
      }
    }
    return runs;
  }

  /// What a message brings of neighbouring segments.
  struct Part {
    std::int32_t segment_begin = 0;
    std::int32_t segment_end = 0;
    StepIndex producer = kNoIndex;
    /// As Held says.
    MachineIndex first = 0;
  };

  /// What the receiver folds a part with.
  struct Operand {
    StepIndex producer = kNoIndex;
    IndexRange places;
    /// It stands before what is sent.
    bool left = false;
  };

  absl::Status AddMessage(const Message& message, bool spreads) {
    const absl::StatusOr<std::vector<Part>> parts = TakeFromSender(message, spreads);
    if (!parts.ok()) return parts.status();
    // Joins of what the receiver holds come before the step that reads them.
    std::vector<Operand> operands;
    if (!spreads) operands = OperandsOf(message, *parts);
    const StepIndex consumer =
        AddCombineStep(message.receiver, message.start_s + message.flight_s + message.port_s);
    if (!operands.empty()) plan_.steps[At(consumer)].duration_s = message.combine_s;
    for (const Operand& operand : operands) {
      if (operand.left) ReadInPlace(operand, consumer);
    }
    for (const Part& part : *parts) {
      AddTransfer(part.producer, consumer, PlacesOf(part.segment_begin, part.segment_end),
                  message.start_s);
      for (std::int32_t j = part.segment_begin; j < part.segment_end; ++j) {
        Held& held = held_[At(message.receiver)][At(j)];
        const bool combines = !spreads && held.maker != kNoIndex;
        held = {consumer, combines ? std::min(held.first, part.first) : part.first};
      }
    }
    for (const Operand& operand : operands) {
      if (!operand.left) ReadInPlace(operand, consumer);
    }
    return absl::OkStatus();
  }

  /// The sender keeps what it `spreads`, and holds nothing any more of what is folded elsewhere.
  absl::StatusOr<std::vector<Part>> TakeFromSender(const Message& message, bool spreads) {
    std::vector<Part> parts;
    std::vector<StepIndex> producers;
    for (const auto& [begin, end] : Parts(message)) {
      std::vector<Run> runs = RunsOf(message.sender, begin, end);
      std::int32_t covered = 0;
      for (const Run& run : runs) covered += run.segment_end - run.segment_begin;
      if (covered != end - begin) {
        return absl::InvalidArgumentError(
            absl::StrCat("machine ", message.sender, " sends what it does not hold"));
      }
      const MachineIndex first = runs.front().held.first;
      producers.push_back(ProducerOf(std::move(runs), message.sender, message.start_s, producers));
      parts.push_back({begin, end, producers.back(), first});
      if (spreads) continue;
      for (std::int32_t j = begin; j < end; ++j) held_[At(message.sender)][At(j)] = {};
    }
    return parts;
  }

  std::vector<Operand> OperandsOf(const Message& message, const std::vector<Part>& parts) {
    std::vector<Operand> operands;
    std::vector<StepIndex> taken;
    for (const Part& part : parts) {
      for (const Run& run : RunsOf(message.receiver, part.segment_begin, part.segment_end)) {
        taken.push_back(ProducerOf({run}, message.receiver, message.start_s, taken));
        operands.push_back({taken.back(), PlacesOf(run.segment_begin, run.segment_end),
                            run.held.first < part.first});
      }
    }
    return operands;
  }

  void ReadInPlace(const Operand& operand, StepIndex consumer) {
    AddSection(operand.producer, consumer, operand.places);
    plan_.steps[At(consumer)].after_steps.push_back(operand.producer);
  }

  /// The runs' own step, or a join where they are several or where two steps would have two
  /// sections between them.
  StepIndex ProducerOf(std::vector<Run> runs, MachineIndex machine, Seconds start_s,
                       const std::vector<StepIndex>& taken) {
    const StepIndex maker = runs.front().held.maker;
    if (runs.size() == 1 && std::find(taken.begin(), taken.end(), maker) == taken.end())
      return maker;
    std::vector<StepIndex> inputs;
    for (const Run& run : runs) inputs.push_back(ProducerOf({run}, machine, start_s, inputs));
    const StepIndex join = AddCombineStep(machine, start_s);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      AddSection(inputs[i], join, PlacesOf(runs[i].segment_begin, runs[i].segment_end));
      plan_.steps[At(join)].after_steps.push_back(inputs[i]);
    }
    plan_.steps[At(join)].output_bytes = plan_.steps[At(join)].input_bytes;
    return join;
  }

  StepIndex AddCombineStep(MachineIndex machine, Seconds start_s) {
    ComputeStep step;
    step.kind = StepKind::kCombine;
    step.layer = 1;
    step.index_in_layer = next_combine_++;
    step.worker = machine;
    step.start_s = start_s;
    plan_.steps.push_back(std::move(step));
    return static_cast<StepIndex>(plan_.steps.size()) - 1;
  }

  void AddTransfer(StepIndex producer, StepIndex consumer, const IndexRange& places,
                   Seconds start_s) {
    AddSection(producer, consumer, places);
    Transfer transfer;
    transfer.producer = producer;
    transfer.consumer = consumer;
    transfer.sender = plan_.steps[At(producer)].worker;
    transfer.receiver = plan_.steps[At(consumer)].worker;
    transfer.bytes = (places.end - places.begin) * place_bytes_;
    transfer.start_s = start_s;
    plan_.steps[At(consumer)].output_bytes += transfer.bytes;
    plan_.steps[At(consumer)].after_transfers.push_back(
        static_cast<TransferIndex>(plan_.transfers.size()));
    plan_.transfers.push_back(transfer);
  }

  void AddSection(StepIndex producer, StepIndex consumer, const IndexRange& places) {
    const Bytes bytes = (places.end - places.begin) * place_bytes_;
    plan_.sections.push_back({producer, consumer, bytes, places});
    plan_.steps[At(consumer)].input_bytes += bytes;
  }

  const SpreadingSchedule& collective_;
  Bytes place_bytes_;
  Plan& plan_;
  std::vector<std::int64_t> segment_end_;
  std::vector<std::vector<Held>> held_;  // by machine, segment
  std::int32_t next_combine_ = 0;
};

}  // namespace

absl::StatusOr<Plan> SpreadingPlan(const SpreadingSchedule& collective, const NetworkModel& network,
                                   Bytes element_bytes, Bytes place_bytes) {
  if (absl::Status status = CheckNetwork(network); !status.ok()) return status;
  const Bytes bytes_max = std::numeric_limits<Bytes>::max() / std::max(1, network.num_workers);
  if (place_bytes < 1 || element_bytes < 0 || element_bytes > bytes_max ||
      element_bytes % place_bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("element_bytes is ", element_bytes, ", place_bytes ", place_bytes,
                     "; the one must be a multiple of the other, and at most ", bytes_max));
  }
  if (network.num_workers != collective.schedule.num_machines) {
    return absl::InvalidArgumentError(absl::StrCat("network has ", network.num_workers,
                                                   " workers; the schedule has ",
                                                   collective.schedule.num_machines, " machines"));
  }
  Plan plan;
  plan.network = network;
  plan.transfer_order = TransferOrder::kStrict;
  SpreadingWriter writer(collective, element_bytes, place_bytes, &plan);
  if (absl::Status status = writer.Write(); !status.ok()) return status;
  plan.summary.method = collective.schedule.method;
  if (absl::Status status = OrderByStart(&plan); !status.ok()) return status;
  return plan;
}

}  // namespace weir::planner::tree
