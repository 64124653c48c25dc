#include "planner/tree/write/reduction_writer.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weir::planner::tree {

namespace {

// Times of one reduction that differ by less than this part of it are the same.
constexpr double kSameTime = 1e-9;

/// Adds the steps, transfers and sections of a schedule's messages in their order.
class ReductionWriter {
 public:
  ReductionWriter(const Schedule& schedule, const RunList& runs, const ReductionHosts& hosts,
                  const ElementPlaces& places, Seconds begin_s,
                  absl::Span<const StepIndex> elements, const ReductionOptions& options, Plan* plan)
      : schedule_(schedule),
        runs_(runs),
        hosts_(hosts),
        places_(places),
        begin_s_(begin_s),
        elements_(elements),
        options_(options),
        plan_(*plan),
        first_step_(plan->steps.size()),
        next_combine_(options.first_number ? *options.first_number
                                           : NextCombineIndex(*plan, options.layer)),
        ports_(hosts.workers.size()),
        timetable_(!hosts.ports.full_duplex || !hosts.ports.overlaps_compute) {}

  std::vector<StepIndex> Write() {
    times_ = options_.times.empty() ? TimeOnHosts(schedule_, runs_, TransferSeconds(), hosts_)
                                    : options_.times;
    Seconds end_s = 0;
    for (const MessageTimes& times : times_) end_s = std::max(end_s, times.EndAt());
    same_s_ = kSameTime * end_s;
    for (std::size_t k = 0; k < schedule_.messages.size(); ++k) AddMessage(k);
    std::vector<StepIndex> results;
    for (const SegmentRun& run : runs_.results) {
      const StepIndex step = StepOf(run, schedule_.root);
      if (std::find(results.begin(), results.end(), step) == results.end()) results.push_back(step);
    }
    if (options_.join_result && results.size() > 1)
      results = {AddJoin(runs_.results, schedule_.root)};
    OrderNewSteps();
    return results;
  }

 private:
  /// When the plan would let a machine's ports or combining go on, by planned times.
  struct Ports {
    Seconds send_free_s = 0;
    Seconds receive_free_s = 0;
    Seconds combine_free_s = 0;
  };

  /// Sent runs that follow each other without a gap: what one transfer moves.
  using RunGroup = std::vector<SegmentRun>;

  static std::vector<RunGroup> Groups(const std::vector<SegmentRun>& sent) {
    std::vector<RunGroup> groups;
    for (const SegmentRun& run : sent) {
      if (groups.empty() || groups.back().back().segment_end != run.segment_begin) {
        groups.emplace_back();
      }
      groups.back().push_back(run);
    }
    return groups;
  }

  IndexRange PlacesOf(std::int32_t segment_begin, std::int32_t segment_end) const {
    const auto border = [&](std::int32_t segment) {
      return segment == 0 ? 0 : places_.segment_end[static_cast<std::size_t>(segment - 1)];
    };
    return {border(segment_begin), border(segment_end)};
  }

  IndexRange PlacesOf(const RunGroup& group) const {
    return PlacesOf(group.front().segment_begin, group.back().segment_end);
  }

  Bytes BytesOf(const IndexRange& places) const {
    return (places.end - places.begin) * places_.place_bytes;
  }

  Seconds SecondsOf(const Message& message, const RunGroup& group) const {
    return hosts_.network.TransferSeconds(
        hosts_.workers[static_cast<std::size_t>(message.sender)],
        hosts_.workers[static_cast<std::size_t>(message.receiver)], BytesOf(PlacesOf(group)));
  }

  std::vector<Seconds> TransferSeconds() const {
    std::vector<Seconds> transfer_s(schedule_.messages.size(), 0);
    for (std::size_t k = 0; k < transfer_s.size(); ++k) {
      for (const RunGroup& group : Groups(runs_.of_message[k].sent)) {
        transfer_s[k] += SecondsOf(schedule_.messages[k], group);
      }
    }
    return transfer_s;
  }

  StepIndex StepOf(const SegmentRun& run, MachineIndex machine) const {
    return run.maker == kOwnElement ? elements_[static_cast<std::size_t>(machine)]
                                    : step_of_message_[static_cast<std::size_t>(run.maker)];
  }

  Seconds ReadyAt(const std::vector<SegmentRun>& runs, MachineIndex machine) const {
    Seconds ready_s = 0;
    for (const SegmentRun& run : runs) {
      ready_s = std::max(ready_s, run.maker == kOwnElement
                                      ? hosts_.ReadyAt(machine)
                                      : times_[static_cast<std::size_t>(run.maker)].EndAt());
    }
    return ready_s;
  }

  void AddMessage(std::size_t k) {
    const Message& message = schedule_.messages[k];
    const MessageRuns& runs = runs_.of_message[k];
    const MessageTimes& times = times_[k];
    Ports& from = ports_[static_cast<std::size_t>(message.sender)];
    Ports& to = ports_[static_cast<std::size_t>(message.receiver)];
    const std::vector<RunGroup> groups = Groups(runs.sent);
    std::vector<StepIndex> producers;
    for (const RunGroup& group : groups) {
      const bool held_back =
          timetable_ && producers.empty() &&
          times.start_s > same_s_ + std::max({ReadyAt(group, message.sender), from.send_free_s,
                                              to.receive_free_s});
      producers.push_back(ProducerOf(group, message.sender, producers, held_back));
      if (held_back) StepAt(producers.back()).release_s = begin_s_ + times.start_s;
      if (held_back) StepAt(producers.back()).start_s = begin_s_ + times.start_s;
    }
    std::vector<StepIndex> held;
    for (const SegmentRun& run : runs.held) {
      held.push_back(ProducerOf({run}, message.receiver, held, false));
    }

    const StepIndex consumer = AddCombineStep(message.receiver, times.combine_begin_s);
    StepAt(consumer).duration_s = times.combine_s;
    const Seconds could_combine_s =
        std::max({times.ArrivalAt(), to.combine_free_s, ReadyAt(runs.held, message.receiver)});
    if (options_.held || (timetable_ && times.combine_begin_s > could_combine_s + same_s_)) {
      StepAt(consumer).release_s = begin_s_ + times.combine_begin_s;
    }
    // Sections stand in the order of the operands.
    ReadInPlace(runs.held, held, /*left=*/true, consumer);
    Seconds start_s = times.start_s;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      AddTransfer(producers[i], consumer, PlacesOf(groups[i]), start_s);
      start_s += SecondsOf(message, groups[i]);
    }
    ReadInPlace(runs.held, held, /*left=*/false, consumer);
    step_of_message_.push_back(consumer);
    from.send_free_s = times.ArrivalAt();
    to.receive_free_s = times.ArrivalAt();
    to.combine_free_s = std::max(to.combine_free_s, times.EndAt());
  }

  /// The step that makes these runs: theirs, or a join where they are several, where the plan would
  /// begin too early, or where their step is `taken` (two steps have one section between them).
  StepIndex ProducerOf(const RunGroup& group, MachineIndex machine,
                       const std::vector<StepIndex>& taken, bool held_back) {
    const StepIndex step = StepOf(group.front(), machine);
    if (group.size() == 1 && !held_back &&
        std::find(taken.begin(), taken.end(), step) == taken.end()) {
      return step;
    }
    return AddJoin(group, machine);
  }

  StepIndex AddCombineStep(MachineIndex machine, Seconds start_s) {
    ComputeStep step;
    step.kind = StepKind::kCombine;
    step.layer = options_.layer;
    step.index_in_layer = next_combine_++;
    step.worker = hosts_.workers[static_cast<std::size_t>(machine)];
    step.start_s = begin_s_ + start_s;
    plan_.steps.push_back(std::move(step));
    return static_cast<StepIndex>(plan_.steps.size()) - 1;
  }

  /// Adds a step of no duration that makes one run of several.
  StepIndex AddJoin(std::vector<SegmentRun> runs, MachineIndex machine) {
    std::vector<StepIndex> steps;
    for (SegmentRun& run : runs) {
      run.left = false;
      steps.push_back(ProducerOf({run}, machine, steps, false));
    }
    const StepIndex join = AddCombineStep(machine, ReadyAt(runs, machine));
    ReadInPlace(runs, steps, /*left=*/false, join);
    StepAt(join).output_bytes = StepAt(join).input_bytes;
    return join;
  }

  void ReadInPlace(const std::vector<SegmentRun>& runs, const std::vector<StepIndex>& steps,
                   bool left, StepIndex consumer) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].left != left) continue;
      AddSection(steps[i], consumer, PlacesOf(runs[i].segment_begin, runs[i].segment_end));
      StepAt(consumer).after_steps.push_back(steps[i]);
    }
  }

  void AddTransfer(StepIndex producer, StepIndex consumer, const IndexRange& places,
                   Seconds start_s) {
    AddSection(producer, consumer, places);
    StepAt(consumer).output_bytes += BytesOf(places);
    StepAt(consumer).after_transfers.push_back(static_cast<TransferIndex>(plan_.transfers.size()));
    Transfer transfer;
    transfer.producer = producer;
    transfer.consumer = consumer;
    transfer.sender = StepAt(producer).worker;
    transfer.receiver = StepAt(consumer).worker;
    transfer.bytes = BytesOf(places);
    transfer.start_s = begin_s_ + start_s;
    plan_.transfers.push_back(transfer);
  }

  void AddSection(StepIndex producer, StepIndex consumer, const IndexRange& places) {
    plan_.sections.push_back({producer, consumer, BytesOf(places), places});
    StepAt(consumer).input_bytes += BytesOf(places);
  }

  /// Appends the new steps of each worker by planned start: a run that is only kept, or joined,
  /// then goes before a combine step that begins later.
  void OrderNewSteps() {
    if (plan_.compute_order.size() != static_cast<std::size_t>(plan_.network.num_workers)) return;
    std::vector<StepIndex> steps(plan_.steps.size() - first_step_);
    std::iota(steps.begin(), steps.end(), static_cast<StepIndex>(first_step_));
    // Of those that begin together, what takes no time waits for none of the others.
    const auto key = [&](StepIndex step) {
      return std::pair(StepAt(step).start_s, StepAt(step).duration_s > 0);
    };
    std::stable_sort(steps.begin(), steps.end(),
                     [&](StepIndex a, StepIndex b) { return key(a) < key(b); });
    for (const StepIndex step : steps) {
      plan_.compute_order[static_cast<std::size_t>(StepAt(step).worker)].push_back(step);
    }
  }

  ComputeStep& StepAt(StepIndex step) { return plan_.steps[static_cast<std::size_t>(step)]; }

  const Schedule& schedule_;
  const RunList& runs_;
  const ReductionHosts& hosts_;
  const ElementPlaces& places_;
  Seconds begin_s_;
  absl::Span<const StepIndex> elements_;
  const ReductionOptions& options_;
  Plan& plan_;
  std::size_t first_step_;
  std::int32_t next_combine_;
  std::vector<Ports> ports_;
  bool timetable_;
  std::vector<MessageTimes> times_;
  Seconds same_s_ = 0;
  std::vector<StepIndex> step_of_message_;
};

}  // namespace

std::int32_t NextCombineIndex(const Plan& plan, std::int32_t layer) {
  std::int32_t next = 0;
  for (const ComputeStep& step : plan.steps) {
    if (step.kind->own_order && step.layer == layer) next = std::max(next, step.index_in_layer + 1);
  }
  return next;
}

std::vector<StepIndex> WriteReduction(const Schedule& schedule, const RunList& runs,
                                      const ReductionHosts& hosts, const ElementPlaces& places,
                                      Seconds begin_s, absl::Span<const StepIndex> elements,
                                      const ReductionOptions& options, Plan* plan) {
  return ReductionWriter(schedule, runs, hosts, places, begin_s, elements, options, plan).Write();
}

}  // namespace weir::planner::tree
