#include "planner/plan/check_loops.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/plan_graph.h"
#include "planner/plan/plan_structure.h"

namespace weir::planner {
namespace {

// Of the places [begin, end) of an element: who is in it, as a sum of marks.
struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t marks = 0;
};

// What a step makes: a part of the element of an iteration, or the state that one ended with.
struct Made {
  bool known = false;
  bool is_state = false;
  std::int32_t iteration = 0;
  std::vector<Slice> slices;  // by rising place, none overlapping another, none without marks
};

// Well mixed, so that no few of them add up to another's (splitmix64).
std::uint64_t MarkOf(StepIndex step) {
  std::uint64_t mark = (static_cast<std::uint64_t>(step) + 1) * 0x9e3779b97f4a7c15u;
  mark = (mark ^ (mark >> 30)) * 0xbf58476d1ce4e5b9u;
  mark = (mark ^ (mark >> 27)) * 0x94d049bb133111ebu;
  return mark ^ (mark >> 31);
}

// Sums overlapping slices.
std::vector<Slice> Folded(const std::vector<Slice>& slices) {
  std::map<std::int64_t, std::uint64_t> changes;
  for (const Slice& slice : slices) {
    if (slice.begin == slice.end) continue;
    changes[slice.begin] += slice.marks;
    changes[slice.end] -= slice.marks;
  }
  std::vector<Slice> folded;
  std::uint64_t marks = 0;
  std::int64_t begin = 0;
  for (const auto& [place, change] : changes) {
    if (marks != 0 && place > begin) folded.push_back({begin, place, marks});
    marks += change;
    begin = place;
  }
  // Neighbours with the same marks are one.
  std::vector<Slice> joined;
  for (const Slice& slice : folded) {
    if (!joined.empty() && joined.back().end == slice.begin && joined.back().marks == slice.marks) {
      joined.back().end = slice.end;
    } else {
      joined.push_back(slice);
    }
  }
  return joined;
}

class LoopCheck {
 public:
  explicit LoopCheck(const Plan& plan)
      : plan_(plan), inputs_(plan.steps.size()), made_(plan.steps.size()) {
    for (std::size_t i = 0; i < plan.sections.size(); ++i) {
      inputs_[static_cast<std::size_t>(plan.sections[i].consumer)].push_back(i);
    }
  }

  absl::Status Check() {
    if (absl::Status status = FindSteps(); !status.ok()) return status;
    if (absl::Status status = CheckMappers(); !status.ok()) return status;
    const absl::StatusOr<PlanGraph> graph = PlanGraph::Build(plan_, GraphRules::kDataOnly);
    if (!graph.ok()) return graph.status();
    for (const NodeIndex node : graph->topological_order()) {
      if (graph->IsTransfer(node)) continue;
      if (absl::Status status = Follow(graph->ItemOf(node)); !status.ok()) return status;
    }
    if (absl::Status status = CheckRanges(); !status.ok()) return status;
    return CheckResults();
  }

 private:
  const ComputeStep& StepAt(StepIndex step) const {
    return plan_.steps[static_cast<std::size_t>(step)];
  }
  Made& MadeBy(StepIndex step) { return made_[static_cast<std::size_t>(step)]; }
  const std::vector<std::size_t>& InputsOf(StepIndex step) const {
    return inputs_[static_cast<std::size_t>(step)];
  }
  std::int32_t num_iterations() const { return static_cast<std::int32_t>(updates_.size()); }
  std::size_t num_ranges() const { return updates_[0].size(); }
  bool by_ranges() const { return num_ranges() > 1; }

  absl::Status FindSteps() {
    std::size_t num_ranges = 0;
    for (const ComputeStep& step : plan_.steps) {
      if (step.kind->reads_input()) ++num_maps_;
      if (!step.kind->updates_state) continue;
      ++num_updates_;
      if (step.layer == 0) ++num_ranges;
    }
    if (num_ranges == 0 || num_maps_ == 0) {
      return Invalid("A loop needs map and update steps; there are ", num_maps_, " and ",
                     num_updates_, ", of iteration 0 ", num_ranges);
    }
    const std::size_t iterations = num_updates_ / num_ranges;
    updates_.assign(iterations, std::vector<StepIndex>(num_ranges, kNoIndex));
    marks_.assign(iterations, 0);
    ranges_.resize(num_ranges);
    maps_.assign(num_maps_, kNoIndex);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const auto index = static_cast<StepIndex>(i);
      const ComputeStep& step = plan_.steps[i];
      if (step.kind->reads_input()) {
        maps_[static_cast<std::size_t>(step.index_in_layer)] = index;
      }
      if (!step.kind->updates_state) continue;
      const auto range = static_cast<std::size_t>(step.index_in_layer);
      if (step.layer >= num_iterations() || range >= num_ranges ||
          updates_[static_cast<std::size_t>(step.layer)][range] != kNoIndex) {
        return Invalid("Step ", i, " updates iteration ", step.layer, " as number ",
                       step.index_in_layer, "; the ", iterations,
                       " iterations are numbered from 0, with as many update steps each, numbered "
                       "from 0 to ",
                       num_ranges - 1);
      }
      updates_[static_cast<std::size_t>(step.layer)][range] = index;
    }
    return CheckUpdaters();
  }

  absl::Status CheckUpdaters() const {
    for (std::size_t iteration = 0; iteration < updates_.size(); ++iteration) {
      for (std::size_t range = 0; range < num_ranges(); ++range) {
        const StepIndex update = updates_[iteration][range];
        if (update == kNoIndex) {
          return Invalid("Iteration ", iteration, " lacks the update step ", range, " of ",
                         num_ranges());
        }
        const StepIndex first = updates_[0][range];
        if (StepAt(update).worker == StepAt(first).worker) continue;
        return Invalid("Step ", update, " updates on worker ", StepAt(update).worker,
                       "; the first update step ", range, " is on worker ", StepAt(first).worker);
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckMappers() {
    std::vector<StepIndex> mapper_on(static_cast<std::size_t>(plan_.network.num_workers), kNoIndex);
    for (const StepIndex map : maps_) {
      StepIndex& on_worker = mapper_on[static_cast<std::size_t>(StepAt(map).worker)];
      if (on_worker != kNoIndex) {
        return Invalid("Steps ", on_worker, " and ", map, " both keep input on worker ",
                       StepAt(map).worker, "; a worker keeps that of one mapper");
      }
      on_worker = map;
    }
    std::vector<std::size_t> again(updates_.size() * maps_.size(), 0);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const ComputeStep& step = plan_.steps[i];
      if (!step.kind->iterates || step.kind->updates_state) continue;
      const auto mapper = static_cast<std::size_t>(step.index_in_layer);
      if (step.layer < 1 || step.layer >= num_iterations() || mapper >= maps_.size() ||
          again[static_cast<std::size_t>(step.layer) * maps_.size() + mapper]++ > 0) {
        return Invalid("Step ", i, " is mapper ", mapper, " of iteration ", step.layer,
                       "; each of the iterations 1 to ", num_iterations() - 1, " has each of the ",
                       maps_.size(), " mappers once");
      }
      if (step.worker != StepAt(maps_[mapper]).worker) {
        return Invalid("Step ", i, " is mapper ", mapper, " on worker ", step.worker,
                       ", but its input lies on worker ", StepAt(maps_[mapper]).worker);
      }
    }
    for (std::size_t place = maps_.size(); place < again.size(); ++place) {
      if (again[place] > 0) continue;
      return Invalid("Iteration ", place / maps_.size(), " lacks mapper ", place % maps_.size());
    }
    return absl::OkStatus();
  }

  // Says what a step makes of what it reads, or which rule that breaks.
  absl::Status Follow(StepIndex index) {
    const ComputeStep& step = StepAt(index);
    if (step.kind->updates_state) return FollowUpdate(index);
    if (step.kind->iterates) return FollowIterate(index);
    if (step.kind->reads_input()) {
      MadeBy(index) = ElementOf(index, 0);
      return absl::OkStatus();
    }
    if (step.kind->splits_keys()) return FollowResult(index);
    if (step.kind->stores) return absl::OkStatus();
    return FollowCombine(index);
  }

  // Any range of places until an update says how many there are.
  Made ElementOf(StepIndex index, std::int32_t iteration) {
    marks_[static_cast<std::size_t>(iteration)] += MarkOf(index);
    constexpr std::int64_t kAllPlaces = std::int64_t{1} << 62;
    return {true, false, iteration, {{0, kAllPlaces, MarkOf(index)}}};
  }

  IndexRange PlacesOf(std::size_t section) const {
    return plan_.sections[section].indexes.value_or(IndexRange{});
  }

  absl::Status CheckSection(std::size_t section) {
    const Section& s = plan_.sections[section];
    if (!s.indexes) return Invalid("Section ", section, " of a loop has no index range");
    const Made& made = MadeBy(s.producer);
    if (!made.known) {
      return Invalid("Step ", s.consumer, " of a loop reads step ", s.producer,
                     ", which is no part of it");
    }
    if (!made.is_state) return absl::OkStatus();
    if (by_ranges()) {
      const Slice& held = made.slices[0];
      if (s.indexes->begin == held.begin && s.indexes->end == held.end) return absl::OkStatus();
      return Invalid("Section ", section, " cuts a range of a state: places [", s.indexes->begin,
                     ", ", s.indexes->end, ") of [", held.begin, ", ", held.end, ")");
    }
    if (s.indexes->begin != 0 || (state_places_ >= 0 && s.indexes->end != state_places_)) {
      return Invalid("Section ", section, " cuts a state: places [", s.indexes->begin, ", ",
                     s.indexes->end, ") of ", state_places_);
    }
    if (s.indexes->end == 0) return Invalid("Section ", section, " holds no place of a state");
    state_places_ = s.indexes->end;
    return absl::OkStatus();
  }

  absl::Status FollowIterate(StepIndex index) {
    const ComputeStep& step = StepAt(index);
    if (InputsOf(index).size() != num_ranges()) {
      return Invalid("Step ", index, " of iteration ", step.layer, " reads ",
                     InputsOf(index).size(), " sections; must be ", num_ranges(),
                     by_ranges() ? ", one of each range of a state" : ", of a state");
    }
    std::vector<IndexRange> places;
    for (const std::size_t section : InputsOf(index)) {
      if (absl::Status status = CheckSection(section); !status.ok()) return status;
      const Made& state = MadeBy(plan_.sections[section].producer);
      if (!state.is_state || state.iteration != step.layer - 1) {
        return Invalid("Step ", index, " of iteration ", step.layer, " reads step ",
                       plan_.sections[section].producer, ", which holds ",
                       state.is_state ? "the state" : "a result", " of iteration ", state.iteration,
                       "; must be the state of iteration ", step.layer - 1);
      }
      places.push_back(PlacesOf(section));
    }
    if (absl::Status status = CheckTiles(places, index); !status.ok()) return status;
    MadeBy(index) = ElementOf(index, step.layer);
    return absl::OkStatus();
  }

  // Ranges of a state that a step reads follow one another, each place once.
  static absl::Status CheckTiles(std::vector<IndexRange> places, StepIndex step) {
    std::sort(places.begin(), places.end(), [](const IndexRange& a, const IndexRange& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::int64_t until = 0;
    for (const IndexRange& range : places) {
      if (range.begin != until) {
        return Invalid("Step ", step, " reads places [", range.begin, ", ", range.end,
                       ") of a state after those up to ", until);
      }
      until = range.end;
    }
    return absl::OkStatus();
  }

  absl::Status FollowCombine(StepIndex index) {
    Made made;
    std::vector<Slice> slices;
    for (const std::size_t section : InputsOf(index)) {
      if (absl::Status status = CheckSection(section); !status.ok()) return status;
      const Made& from = MadeBy(plan_.sections[section].producer);
      if (made.known && (made.is_state || from.is_state || made.iteration != from.iteration)) {
        return Invalid("Step ", index, " combines results of iterations ", made.iteration, " and ",
                       from.iteration, ", or a state; section ", section);
      }
      made.known = true;
      made.is_state = from.is_state;
      made.iteration = from.iteration;
      if (absl::Status status = AddSlices(section, slices); !status.ok()) return status;
    }
    if (!made.known) return Invalid("Step ", index, " combines nothing");
    made.slices = Folded(slices);
    MadeBy(index) = std::move(made);
    return absl::OkStatus();
  }

  // The part of a producer's slices that a section takes.
  absl::Status AddSlices(std::size_t section, std::vector<Slice>& slices) {
    const IndexRange places = PlacesOf(section);
    std::int64_t covered = places.begin;
    for (const Slice& slice : MadeBy(plan_.sections[section].producer).slices) {
      const std::int64_t begin = std::max(slice.begin, places.begin);
      const std::int64_t end = std::min(slice.end, places.end);
      if (begin >= end) continue;
      if (begin == covered) covered = end;
      slices.push_back({begin, end, slice.marks});
    }
    if (covered < places.end) {
      return Invalid("Section ", section, " takes places [", places.begin, ", ", places.end,
                     ") of step ", plan_.sections[section].producer, ", which does not hold place ",
                     covered);
    }
    return absl::OkStatus();
  }

  absl::Status FollowUpdate(StepIndex index) {
    const std::int32_t iteration = StepAt(index).layer;
    const auto number = static_cast<std::size_t>(StepAt(index).index_in_layer);
    std::int32_t states = 0;
    std::vector<Slice> slices;
    for (const std::size_t section : InputsOf(index)) {
      if (absl::Status status = CheckSection(section); !status.ok()) return status;
      const StepIndex producer = plan_.sections[section].producer;
      const Made& from = MadeBy(producer);
      if (from.is_state) {
        ++states;
        if (producer == UpdateBefore(iteration, number)) continue;
        return Invalid("Step ", index, " updates iteration ", iteration,
                       " but reads the state of step ", producer);
      }
      if (from.iteration != iteration) {
        return Invalid("Step ", index, " updates iteration ", iteration, " but reads step ",
                       producer, " of iteration ", from.iteration);
      }
      if (absl::Status status = AddSlices(section, slices); !status.ok()) return status;
    }
    if (states != (iteration > 0 ? 1 : 0)) {
      return Invalid("Step ", index, " updates iteration ", iteration, " and reads ", states,
                     " states; must be one, but none in iteration 0");
    }
    IndexRange& range = ranges_[number];
    if (range.end == 0 && !slices.empty()) {
      range = {slices[0].begin, slices[0].end};
      for (const Slice& slice : slices) {
        range.begin = std::min(range.begin, slice.begin);
        range.end = std::max(range.end, slice.end);
      }
      if (!by_ranges()) range.begin = 0;
    }
    const std::vector<Slice> read = Folded(slices);
    const std::uint64_t all = marks_[static_cast<std::size_t>(iteration)];
    const bool whole = read.size() == 1 && read[0].begin == range.begin &&
                       read[0].end == range.end && read[0].marks == all;
    if (!whole) {
      const Slice at = read.empty() ? Slice{} : read[0];
      const bool begins = at.begin == range.begin && at.marks == all;
      return Invalid("Step ", index, " updates iteration ", iteration,
                     " but does not get every place of each mapper exactly once; look at the "
                     "sections that carry places from ",
                     begins ? at.end : range.begin, " on, of [", range.begin, ", ", range.end, ")");
    }
    const Slice made = by_ranges() ? Slice{range.begin, range.end, MarkOf(index)}
                                   : Slice{0, std::int64_t{1} << 62, MarkOf(index)};
    MadeBy(index) = Made{true, true, iteration, {made}};
    return absl::OkStatus();
  }

  // Ranges follow one another in the order of their numbers.
  absl::Status CheckRanges() const {
    std::int64_t until = 0;
    for (std::size_t range = 0; range < ranges_.size(); ++range) {
      if (ranges_[range].begin != until) {
        return Invalid("The update steps ", range, " have places [", ranges_[range].begin, ", ",
                       ranges_[range].end, "); those before end at ", until);
      }
      until = ranges_[range].end;
    }
    return absl::OkStatus();
  }

  StepIndex UpdateBefore(std::int32_t iteration, std::size_t range) const {
    return iteration == 0 ? kNoIndex : updates_[static_cast<std::size_t>(iteration - 1)][range];
  }

  absl::Status FollowResult(StepIndex index) {
    std::vector<StepIndex> read;
    for (const std::size_t section : InputsOf(index)) {
      if (absl::Status status = CheckSection(section); !status.ok()) return status;
      read.push_back(plan_.sections[section].producer);
    }
    std::sort(read.begin(), read.end());
    std::vector<StepIndex> updates;
    for (const std::vector<StepIndex>& of_iteration : updates_) {
      for (const StepIndex update : of_iteration) {
        if (StepAt(update).worker == StepAt(index).worker) updates.push_back(update);
      }
    }
    std::sort(updates.begin(), updates.end());
    if (updates.empty() || read != updates) {
      return Invalid("Step ", index, " on worker ", StepAt(index).worker, " reads ", read.size(),
                     " steps of a loop; it must read the ", updates.size(),
                     " update steps of its worker and nothing else");
    }
    results_.push_back(index);
    return absl::OkStatus();
  }

  // Parts of the result: one on each worker that updates, in the order of the ranges.
  absl::Status CheckResults() {
    std::sort(results_.begin(), results_.end(), [this](StepIndex a, StepIndex b) {
      return StepAt(a).index_in_layer < StepAt(b).index_in_layer;
    });
    std::vector<WorkerIndex> updaters;  // in the order of their ranges
    for (const StepIndex update : updates_[0]) {
      const WorkerIndex worker = StepAt(update).worker;
      if (updaters.empty() || updaters.back() != worker) updaters.push_back(worker);
    }
    std::vector<WorkerIndex> reducers;
    for (const StepIndex result : results_) reducers.push_back(StepAt(result).worker);
    if (reducers == updaters) return absl::OkStatus();
    return Invalid("There are ", reducers.size(),
                   " reduce steps of a loop; it needs one on each of ", updaters.size(),
                   " workers that update neighbouring ranges, in the order of these");
  }

  const Plan& plan_;
  std::vector<std::vector<std::size_t>> inputs_;  // by step: its sections
  std::vector<Made> made_;                        // by step
  std::size_t num_maps_ = 0;
  std::size_t num_updates_ = 0;
  std::vector<StepIndex> maps_;                  // by number
  std::vector<std::vector<StepIndex>> updates_;  // by iteration, number
  std::vector<IndexRange> ranges_;               // of the elements, by number of the update step
  std::vector<std::uint64_t> marks_;             // by iteration: sum over the mappers met so far
  std::vector<StepIndex> results_;
  std::int64_t state_places_ = -1;
};

}  // namespace

absl::Status CheckLoops(const Plan& plan) {
  const bool loops = std::any_of(plan.steps.begin(), plan.steps.end(),
                                 [](const ComputeStep& step) { return step.kind->iterates; });
  return loops ? LoopCheck(plan).Check() : absl::OkStatus();
}

}  // namespace weir::planner
