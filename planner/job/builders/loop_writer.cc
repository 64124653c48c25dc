#include "planner/job/builders/loop_writer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "planner/order/transfer_orders.h"
#include "planner/order/whole_bytes.h"
#include "planner/tree/write/tree_plan.h"

namespace weir::planner {
namespace {

using tree::MachineIndex;

template <typename Items>
auto& Of(Items& items, std::int32_t index) {
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
    if (trees_.by_ranges()) {
      WriteRanges(std::move(elements), iterations);
      if (absl::Status status = OrderByStart(&plan_); !status.ok()) return status;
      return std::move(plan_);
    }
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
    options.first_number = 0;  // NumberCombines
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
    const std::size_t first_transfer = plan_.transfers.size();
    const absl::StatusOr<std::vector<StepIndex>> told =
        tree::AppendBroadcast(trees_.spread, update, others, loop_.state_bytes(), FinishOf(update),
                              &plan_, loop_.state_place_bytes, {}, 0);
    if (!told.ok()) return told.status();
    for (std::size_t i = first; i < plan_.steps.size(); ++i) plan_.steps[i].layer = iteration + 1;
    for (std::size_t t = first_transfer; t < plan_.transfers.size(); ++t) {
      const Transfer& transfer = plan_.transfers[t];
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
      steps.push_back(AddIterate(static_cast<MachineIndex>(j), iteration, FinishOf(states[j])));
      ReadInPlace(states[j], steps.back(), loop_.state_bytes(), loop_.state_places);
    }
    return steps;
  }

  StepIndex AddIterate(MachineIndex mapper, std::int32_t iteration, Seconds ready_s) {
    ComputeStep step;
    step.kind = StepKind::kIterate;
    step.layer = iteration;
    step.index_in_layer = mapper;
    step.worker = Of(mappers_, mapper).worker;
    step.output_bytes = loop_.element_bytes();
    step.duration_s = loop_.step_overhead_s +
                      static_cast<double>(Of(mappers_, mapper).input_bytes) *
                          loop_.iterate_seconds_per_byte * Of(hosts_.combine_slowdown, mapper);
    return Add(std::move(step), ready_s);
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

  // A range of places, and who updates it.
  struct Range {
    MachineIndex owner = 0;
    std::int32_t turn = 0;  // among the ranges of its owner
    IndexRange places;
  };

  // Neighbouring ranges have the same owner, so that his are one part of the result.
  void CutRanges() {
    std::vector<double> rates;
    for (MachineIndex j = 0; j < hosts_.num_mappers(); ++j) {
      rates.push_back(1 / hosts_.PortSlowdown(j));
    }
    const std::vector<std::int64_t> of_owner = WholeBytes(loop_.element_places, rates);
    const std::vector<double> equal(static_cast<std::size_t>(trees_.ranges_per_mapper), 1.0);
    std::int64_t at = 0;
    for (MachineIndex j = 0; j < hosts_.num_mappers(); ++j) {
      std::int32_t turn = 0;
      for (const std::int64_t count : WholeBytes(Of(of_owner, j), equal)) {
        if (count == 0) continue;
        ranges_.push_back({j, turn++, {at, at + count}});
        at += count;
      }
    }
  }

  // Rounds in which `from` has to wait until it sends to `to`, so that no two want the same port.
  std::int32_t RoundOf(MachineIndex from, MachineIndex to) const {
    const std::int32_t p = hosts_.num_mappers();
    return (to - from + p) % p - 1;
  }

  // Of the longest message of a turn.
  Seconds RoundSeconds(std::int32_t turn, Bytes place_bytes) const {
    Seconds longest_s = 0;
    for (const Range& range : ranges_) {
      if (range.turn != turn) continue;
      const Bytes bytes = (range.places.end - range.places.begin) * place_bytes;
      const WorkerIndex worker = Of(hosts_.workers, range.owner);
      longest_s = std::max(longest_s, network_.TransferSeconds(worker, worker, bytes));
    }
    return longest_s;
  }

  // In place, or by a transfer that wants to start at start_s.
  void ReadPlaces(StepIndex from, StepIndex to, const IndexRange& places, Bytes place_bytes,
                  Seconds start_s) {
    const Bytes bytes = (places.end - places.begin) * place_bytes;
    plan_.sections.push_back({from, to, bytes, places});
    StepAt(to).input_bytes += bytes;
    if (StepAt(from).worker == StepAt(to).worker) {
      StepAt(to).after_steps.push_back(from);
      return;
    }
    StepAt(to).after_transfers.push_back(static_cast<TransferIndex>(plan_.transfers.size()));
    Transfer transfer;
    transfer.producer = from;
    transfer.consumer = to;
    transfer.sender = StepAt(from).worker;
    transfer.receiver = StepAt(to).worker;
    transfer.bytes = bytes;
    transfer.start_s = start_s;
    plan_.transfers.push_back(transfer);
  }

  void WriteRanges(std::vector<StepIndex> elements, std::int32_t iterations) {
    CutRanges();
    std::vector<std::vector<StepIndex>> updates;  // by iteration, range
    for (std::int32_t i = 0; i <= iterations; ++i) {
      updates.push_back(
          UpdateRanges(elements, i == 0 ? std::vector<StepIndex>() : updates.back(), i));
      if (i < iterations) elements = IterateOnRanges(updates.back(), i + 1);
    }
    AddParts(updates);
  }

  std::vector<StepIndex> UpdateRanges(const std::vector<StepIndex>& elements,
                                      const std::vector<StepIndex>& before,
                                      std::int32_t iteration) {
    Seconds begin_s = 0;
    for (const StepIndex element : elements) begin_s = std::max(begin_s, FinishOf(element));
    std::vector<StepIndex> updates(ranges_.size(), kNoIndex);
    for (std::int32_t turn = 0; turn < trees_.ranges_per_mapper; ++turn) {
      const Seconds round_s = RoundSeconds(turn, loop_.element_place_bytes);
      const Seconds end_s = begin_s + (hosts_.num_mappers() - 1) * round_s;
      for (std::size_t k = 0; k < ranges_.size(); ++k) {
        const Range& range = ranges_[k];
        if (range.turn != turn) continue;
        const auto places = static_cast<double>(range.places.end - range.places.begin);
        ComputeStep step;
        step.kind = StepKind::kUpdate;
        step.layer = iteration;
        step.index_in_layer = static_cast<std::int32_t>(k);
        step.worker = Of(hosts_.workers, range.owner);
        step.output_bytes = (range.places.end - range.places.begin) * loop_.state_place_bytes;
        step.duration_s = loop_.step_overhead_s +
                          places * static_cast<double>(loop_.element_place_bytes) *
                              ((hosts_.num_mappers() - 1) * loop_.combine_seconds_per_byte +
                               loop_.update_seconds_per_byte) *
                              Of(hosts_.combine_slowdown, range.owner);
        updates[k] = Add(std::move(step), end_s);
        if (!before.empty()) {
          ReadPlaces(before[k], updates[k], range.places, loop_.state_place_bytes, 0);
        }
        for (MachineIndex j = 0; j < hosts_.num_mappers(); ++j) {
          ReadPlaces(Of(elements, j), updates[k], range.places, loop_.element_place_bytes,
                     begin_s + RoundOf(j, range.owner) * round_s);
        }
      }
      begin_s = end_s;
    }
    return updates;
  }

  std::vector<StepIndex> IterateOnRanges(const std::vector<StepIndex>& updates,
                                         std::int32_t iteration) {
    // By turn: when the last range of it is updated.
    std::vector<Seconds> told_s(static_cast<std::size_t>(trees_.ranges_per_mapper), 0);
    for (std::size_t k = 0; k < ranges_.size(); ++k) {
      Seconds& at = Of(told_s, ranges_[k].turn);
      at = std::max(at, FinishOf(updates[k]));
    }
    std::vector<Seconds> round_s;
    Seconds end_s = 0;
    for (std::int32_t turn = 0; turn < trees_.ranges_per_mapper; ++turn) {
      round_s.push_back(RoundSeconds(turn, loop_.state_place_bytes));
      Of(told_s, turn) = std::max(Of(told_s, turn), end_s);
      end_s = Of(told_s, turn) + (hosts_.num_mappers() - 1) * round_s.back();
    }
    std::vector<StepIndex> steps;
    for (MachineIndex j = 0; j < hosts_.num_mappers(); ++j) {
      steps.push_back(AddIterate(j, iteration, end_s));
      for (std::size_t k = 0; k < ranges_.size(); ++k) {
        const Range& range = ranges_[k];
        ReadPlaces(updates[k], steps.back(), range.places, loop_.state_place_bytes,
                   Of(told_s, range.turn) + RoundOf(range.owner, j) * Of(round_s, range.turn));
      }
    }
    return steps;
  }

  // Each owner of ranges makes the part of his places.
  void AddParts(const std::vector<std::vector<StepIndex>>& updates) {
    std::int32_t part = 0;
    for (std::size_t k = 0; k < ranges_.size();) {
      std::size_t end = k;
      while (end < ranges_.size() && ranges_[end].owner == ranges_[k].owner) ++end;
      const auto places = static_cast<double>(loop_.state_places);
      const std::int64_t first = ranges_[k].places.begin, last = ranges_[end - 1].places.end;
      ComputeStep step;
      step.kind = StepKind::kReduce;
      step.layer = 1;
      step.index_in_layer = part++;
      step.worker = Of(hosts_.workers, ranges_[k].owner);
      step.load_fraction = static_cast<double>(last - first) / places;
      step.key_begin = static_cast<double>(first) / places;
      step.key_end = end == ranges_.size() ? 1 : static_cast<double>(last) / places;
      step.output_bytes = (last - first) * loop_.state_place_bytes;
      step.duration_s = loop_.step_overhead_s;
      const StepIndex reduce = Add(std::move(step), FinishOf(updates.back()[end - 1]));
      for (const std::vector<StepIndex>& of_iteration : updates) {
        for (std::size_t r = k; r < end; ++r) {
          ReadPlaces(of_iteration[r], reduce, ranges_[r].places, loop_.state_place_bytes, 0);
        }
      }
      k = end;
    }
  }

  // Combine steps are numbered within their layer, all at once: to go on from those so far takes a
  // look at the whole plan.
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
  std::vector<Range> ranges_;  // by rising place
  std::map<WorkerIndex, Seconds> free_s_;
};

}  // namespace

absl::StatusOr<Plan> WriteLoop(const LoopShape& loop, const NetworkModel& network,
                               const LoopHosts& hosts, const std::vector<MapperDraft>& mappers,
                               const LoopTrees& trees, std::int32_t iterations) {
  return LoopWriter(loop, network, hosts, mappers, trees).Write(iterations);
}

}  // namespace weir::planner
