#include "planner/job/builders/loop_writer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "planner/order/transfer_orders.h"
#include "planner/tree/write/tree_plan.h"

namespace weir::planner {
namespace {

using tree::MachineIndex;

template <typename Part>
Part& Of(std::vector<Part>& items, std::int32_t index) {
  return items[static_cast<std::size_t>(index)];
}

// Writes the whole loop, iteration after iteration.
class LoopWriter {
 public:
  LoopWriter(const LoopShape& loop, const NetworkModel& network, const LoopHosts& hosts,
             const std::vector<MapperDraft>& mappers, const LoopTrees& trees)
      : loop_(loop), network_(network), hosts_(hosts), mappers_(mappers), trees_(trees) {}

  absl::StatusOr<Plan> Write(std::int32_t iterations) {
    plan_.network = network_;
    plan_.transfer_order = TransferOrder::kStrict;
    plan_.compute_order.resize(static_cast<std::size_t>(plan_.network.num_workers));
    std::vector<StepIndex> elements = AddMaps();
    StepIndex update = kNoIndex;
    std::vector<StepIndex> updates;
    for (std::int32_t i = 0; i <= iterations; ++i) {
      const absl::StatusOr<StepIndex> folded = Fold(elements, i);
      if (!folded.ok()) return folded.status();
      update = AddUpdate(*folded, update, i);
      updates.push_back(update);
      if (i == iterations) break;
      const absl::StatusOr<std::vector<StepIndex>> states = Tell(update, i);
      if (!states.ok()) return states.status();
      elements = AddIterates(*states, i + 1);
    }
    AddResult(updates);
    NumberCombines();
    if (absl::Status status = OrderByStart(&plan_); !status.ok()) return status;
    return std::move(plan_);
  }

 private:
  ComputeStep& StepAt(StepIndex step) { return Of(plan_.steps, step); }
  Seconds FinishOf(StepIndex step) { return StepAt(step).start_s + StepAt(step).duration_s; }

  // Wanted times only say who goes first; OrderByStart makes the real ones.
  StepIndex Add(ComputeStep step, Seconds ready_s) {
    Seconds& free_s = free_s_[step.worker];
    step.start_s = std::max({ready_s, free_s, step.release_s});
    free_s = step.start_s + step.duration_s;
    const auto index = static_cast<StepIndex>(plan_.steps.size());
    Of(plan_.compute_order, step.worker).push_back(index);
    plan_.steps.push_back(std::move(step));
    return index;
  }

  // `from` is on the worker of `to`.
  void ReadInPlace(StepIndex from, StepIndex to, Bytes bytes, std::int64_t places) {
    plan_.sections.push_back({from, to, bytes, IndexRange{0, places}});
    StepAt(to).after_steps.push_back(from);
    StepAt(to).input_bytes += bytes;
  }

  std::vector<StepIndex> AddMaps() {
    std::vector<StepIndex> maps;
    Bytes begin = 0;
    for (std::size_t j = 0; j < mappers_.size(); ++j) {
      ComputeStep step;
      step.kind = StepKind::kMap;
      step.index_in_layer = static_cast<std::int32_t>(j);
      step.worker = mappers_[j].worker;
      step.input_begin = begin;
      step.input_end = begin += mappers_[j].input_bytes;
      step.input_bytes = mappers_[j].input_bytes;
      step.output_bytes = loop_.element_bytes();
      step.release_s = mappers_[j].release_s;
      step.duration_s = mappers_[j].duration_s;
      maps.push_back(Add(std::move(step), 0));
    }
    return maps;
  }

  // Returns the step on the root that holds the folded element.
  absl::StatusOr<StepIndex> Fold(const std::vector<StepIndex>& elements, std::int32_t iteration) {
    if (elements.size() == 1) return elements[0];
    tree::ReductionOptions options;
    options.combine_slowdown = hosts_.combine_slowdown;
    options.place_bytes = loop_.element_place_bytes;
    options.join_result = true;
    Seconds begin_s = FinishOf(elements[0]);
    for (const StepIndex element : elements) {
      options.ready_s.push_back(FinishOf(element));
      begin_s = std::min(begin_s, FinishOf(element));
    }
    const std::size_t first = plan_.steps.size();
    const absl::StatusOr<std::vector<StepIndex>> result =
        tree::AppendReduction(iteration == 0 ? trees_.first : trees_.others, elements,
                              loop_.element_bytes(), begin_s, &plan_, options);
    if (!result.ok()) return result.status();
    for (std::size_t i = first; i < plan_.steps.size(); ++i) {
      plan_.steps[i].layer = iteration + 1;
      if (plan_.steps[i].duration_s > 0) plan_.steps[i].duration_s += loop_.step_overhead_s;
    }
    return (*result)[0];
  }

  StepIndex AddUpdate(StepIndex folded, StepIndex before, std::int32_t iteration) {
    ComputeStep step;
    step.kind = StepKind::kUpdate;
    step.layer = iteration;
    step.worker = hosts_.workers[static_cast<std::size_t>(hosts_.root)];
    step.output_bytes = loop_.state_bytes();
    step.duration_s = loop_.step_overhead_s +
                      static_cast<double>(loop_.element_bytes()) * loop_.update_seconds_per_byte *
                          hosts_.combine_slowdown[static_cast<std::size_t>(hosts_.root)];
    const StepIndex update = Add(std::move(step), FinishOf(folded));
    ReadInPlace(folded, update, loop_.element_bytes(), loop_.element_places);
    if (before != kNoIndex) ReadInPlace(before, update, loop_.state_bytes(), loop_.state_places);
    return update;
  }

  // Returns the step that holds the state, by mapper.
  absl::StatusOr<std::vector<StepIndex>> Tell(StepIndex update, std::int32_t iteration) {
    std::vector<WorkerIndex> others = hosts_.workers;
    others.erase(others.begin() + hosts_.root);
    std::vector<StepIndex> states(hosts_.workers.size(), update);
    if (others.empty()) return states;
    const std::size_t first = plan_.steps.size();
    const absl::StatusOr<std::vector<StepIndex>> told =
        tree::AppendBroadcast(trees_.spread, update, others, loop_.state_bytes(), FinishOf(update),
                              &plan_, loop_.state_place_bytes);
    if (!told.ok()) return told.status();
    for (std::size_t i = first; i < plan_.steps.size(); ++i) plan_.steps[i].layer = iteration + 1;
    for (const Transfer& transfer : plan_.transfers) {
      if (static_cast<std::size_t>(transfer.consumer) < first) continue;
      StepAt(transfer.consumer).start_s =
          transfer.start_s +
          plan_.network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
    }
    std::size_t other = 0;
    for (std::size_t j = 0; j < states.size(); ++j) {
      if (static_cast<MachineIndex>(j) != hosts_.root) states[j] = (*told)[other++];
    }
    return states;
  }

  std::vector<StepIndex> AddIterates(const std::vector<StepIndex>& states, std::int32_t iteration) {
    std::vector<StepIndex> steps;
    for (std::size_t j = 0; j < states.size(); ++j) {
      ComputeStep step;
      step.kind = StepKind::kIterate;
      step.layer = iteration;
      step.index_in_layer = static_cast<std::int32_t>(j);
      step.worker = mappers_[j].worker;
      step.output_bytes = loop_.element_bytes();
      step.duration_s = loop_.step_overhead_s + static_cast<double>(mappers_[j].input_bytes) *
                                                    loop_.iterate_seconds_per_byte *
                                                    hosts_.combine_slowdown[j];
      steps.push_back(Add(std::move(step), FinishOf(states[j])));
      ReadInPlace(states[j], steps.back(), loop_.state_bytes(), loop_.state_places);
    }
    return steps;
  }

  void AddResult(const std::vector<StepIndex>& updates) {
    ComputeStep step;
    step.kind = StepKind::kReduce;
    step.layer = 1;
    step.worker = StepAt(updates.back()).worker;
    step.load_fraction = 1;
    step.key_end = 1;
    step.output_bytes = loop_.state_bytes();
    step.duration_s = loop_.step_overhead_s;
    const StepIndex result = Add(std::move(step), FinishOf(updates.back()));
    for (const StepIndex update : updates) {
      ReadInPlace(update, result, loop_.state_bytes(), loop_.state_places);
    }
  }

  // Combine steps are numbered within their layer.
  void NumberCombines() {
    std::map<std::int32_t, std::int32_t> next;
    for (ComputeStep& step : plan_.steps) {
      if (step.kind->own_order) step.index_in_layer = next[step.layer]++;
    }
  }

  const LoopShape& loop_;
  const NetworkModel& network_;
  const LoopHosts& hosts_;
  const std::vector<MapperDraft>& mappers_;
  const LoopTrees& trees_;
  Plan plan_;
  std::map<WorkerIndex, Seconds> free_s_;
};

}  // namespace

absl::StatusOr<Plan> WriteLoop(const LoopShape& loop, const NetworkModel& network,
                               const LoopHosts& hosts, const std::vector<MapperDraft>& mappers,
                               const LoopTrees& trees, std::int32_t iterations) {
  return LoopWriter(loop, network, hosts, mappers, trees).Write(iterations);
}

}  // namespace weir::planner
