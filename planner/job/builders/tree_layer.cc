#include "planner/job/builders/tree_layer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/job/job_drafts.h"
#include "planner/job/key_weights.h"
#include "planner/order/whole_bytes.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/hosts/message_runs.h"
#include "planner/tree/write/tree_plan.h"

namespace weir::planner {
namespace {

/// Places of a partial result that were combined from the same operands.
struct Piece {
  IndexRange places;
  /// What the operands bring to their union; see TreeElements::part_of_step.
  double part = 0;
  /// Of an element as it was made: its exact size, so that its sections add up. Negative: by part.
  double element_bytes = -1;
};

/// Which part of the layer's bytes lies below a place.
double ShareBelowPlace(const LayerShape& layer, std::int64_t place) {
  const double position = static_cast<double>(place) / static_cast<double>(layer.element.places);
  const bool vector = layer.element.kind == ElementShape::Kind::kVector;
  return vector ? position : ShareBelow(layer.key_weights, position);
}

/// Follows what combine steps hold, and sizes sections, transfers and steps by it.
class TreeSizes {
 public:
  TreeSizes(const JobShape& shape, const ClusterProfile& cluster, const TreeElements& elements,
            Plan* plan)
      : shape_(shape),
        cluster_(cluster),
        elements_(elements),
        layer_(shape.layers[elements.layer]),
        plan_(*plan) {
    for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
      const Transfer& transfer = plan_.transfers[t];
      transfer_of_[{transfer.producer, transfer.consumer}] = t;
    }
    for (const std::vector<StepIndex>& makers : elements.makers) {
      for (const StepIndex maker : makers) {
        const double part = elements.part_of_step[static_cast<std::size_t>(maker)];
        const auto bytes = static_cast<double>(StepAt(maker).output_bytes);
        held_[maker] = {{{0, layer_.element.places}, part, bytes}};
      }
    }
  }

  /// Sizes the sections [first, last) of the plan and the combine steps that read them. Producers
  /// stand before their consumers, by index.
  void Size(std::size_t first, std::size_t last) {
    std::map<StepIndex, std::vector<std::size_t>> sections_into;
    for (std::size_t i = first; i < last; ++i) {
      sections_into[plan_.sections[i].consumer].push_back(i);
    }
    for (const auto& [step, sections] : sections_into) SizeStep(step, sections);
  }

 private:
  ComputeStep& StepAt(StepIndex step) { return plan_.steps[static_cast<std::size_t>(step)]; }

  Bytes BytesOf(const Piece& piece, const IndexRange& places) const {
    const double bytes = piece.element_bytes >= 0
                             ? piece.element_bytes
                             : ElementBytes(shape_, elements_.layer, piece.part);
    return std::llround(bytes * ShareBelowPlace(layer_, places.end)) -
           std::llround(bytes * ShareBelowPlace(layer_, places.begin));
  }

  static IndexRange Overlap(const IndexRange& a, const IndexRange& b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  }

  void SizeStep(StepIndex step, const std::vector<std::size_t>& sections) {
    std::vector<Piece> taken;
    Bytes in_bytes = 0;
    Bytes arriving_bytes = 0;
    for (const std::size_t i : sections) {
      Section& section = plan_.sections[i];
      section.bytes = 0;
      for (const Piece& piece : held_[section.producer]) {
        const IndexRange part = Overlap(piece.places, *section.indexes);
        if (part.begin >= part.end) continue;
        section.bytes += BytesOf(piece, part);
        taken.push_back({part, piece.part, piece.element_bytes});
      }
      in_bytes += section.bytes;
      const auto transfer = transfer_of_.find({section.producer, section.consumer});
      if (transfer == transfer_of_.end()) continue;
      plan_.transfers[transfer->second].bytes = section.bytes;
      arriving_bytes += section.bytes;
    }
    std::vector<Piece>& held = held_[step] = Folded(taken);
    ComputeStep& combine = StepAt(step);
    combine.input_bytes = in_bytes;
    if (!combine.kind->combines) return;
    combine.output_bytes = 0;
    for (const Piece& piece : held) combine.output_bytes += BytesOf(piece, piece.places);
    const Bytes work_bytes = arriving_bytes > 0 ? arriving_bytes : in_bytes;
    const double rate = cluster_.workers[static_cast<std::size_t>(combine.worker)].compute_rate;
    combine.duration_s =
        layer_.startup_s.value +
        static_cast<double>(work_bytes) * layer_.element.combine_seconds_per_byte.value / rate;
  }

  /// One piece for each range whose operands are the same.
  static std::vector<Piece> Folded(const std::vector<Piece>& taken) {
    std::vector<std::int64_t> borders;
    for (const Piece& piece : taken) {
      borders.push_back(piece.places.begin);
      borders.push_back(piece.places.end);
    }
    std::sort(borders.begin(), borders.end());
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    std::vector<double> part(borders.size(), 0);
    std::vector<int> operands(borders.size(), 0);
    std::vector<double> element_bytes(borders.size(), -1);
    for (const Piece& piece : taken) {
      auto at = static_cast<std::size_t>(
          std::lower_bound(borders.begin(), borders.end(), piece.places.begin) - borders.begin());
      for (; borders[at] < piece.places.end; ++at) {
        part[at] += piece.part;
        element_bytes[at] = ++operands[at] == 1 ? piece.element_bytes : -1;
      }
    }
    std::vector<Piece> pieces;
    for (std::size_t at = 0; at + 1 < borders.size(); ++at) {
      if (operands[at] == 0) continue;
      if (!pieces.empty() && pieces.back().places.end == borders[at] &&
          pieces.back().part == part[at] && pieces.back().element_bytes == element_bytes[at]) {
        pieces.back().places.end = borders[at + 1];
      } else {
        pieces.push_back({{borders[at], borders[at + 1]}, part[at], element_bytes[at]});
      }
    }
    return pieces;
  }

  const JobShape& shape_;
  const ClusterProfile& cluster_;
  const TreeElements& elements_;
  const LayerShape& layer_;
  Plan& plan_;
  std::map<std::pair<StepIndex, StepIndex>, std::size_t> transfer_of_;
  std::map<StepIndex, std::vector<Piece>> held_;
};

/// Places up to the end of each reducer's keys.
absl::StatusOr<std::vector<std::int64_t>> CutPlaces(const LayerShape& layer,
                                                    std::int32_t num_reducers) {
  const std::int64_t places = layer.element.places;
  if (num_reducers > places) {
    return absl::InvalidArgumentError(absl::StrCat("Cannot combine for ", num_reducers,
                                                   " reducers what has ", places, " places"));
  }
  const std::vector<double> fractions(static_cast<std::size_t>(num_reducers), 1.0 / num_reducers);
  std::vector<double> ends = CutKeys(layer.key_weights, fractions).ends;
  const auto round_ends = [&] {
    std::vector<std::int64_t> rounded;
    for (const double end : ends) {
      rounded.push_back(std::llround(end * static_cast<double>(places)));
    }
    rounded.back() = places;
    return rounded;
  };
  std::vector<std::int64_t> cuts = round_ends();
  // A key so heavy that it fills a reducer's share would leave others without places.
  bool rising = cuts[0] > 0;
  for (std::size_t k = 1; k < cuts.size(); ++k) rising = rising && cuts[k] > cuts[k - 1];
  if (rising && layer.element.kind == ElementShape::Kind::kTable) return cuts;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    ends[k] = static_cast<double>(k + 1) / static_cast<double>(num_reducers);
  }
  return round_ends();
}

/// Bytes at the begin of each segment, and at the end of the last.
std::vector<std::int64_t> Borders(std::int64_t size, const std::vector<double>& segment_units) {
  std::vector<std::int64_t> borders = {0};
  for (const std::int64_t part : WholeBytes(size, segment_units)) {
    borders.push_back(borders.back() + part);
  }
  return borders;
}

/// What the root holds at the end: one range for each step, joined where a step holds two.
bool ResultsNeedAJoin(const tree::RunList& runs) {
  std::vector<std::int32_t> makers;
  for (const tree::SegmentRun& run : runs.results) makers.push_back(run.maker);
  std::sort(makers.begin(), makers.end());
  return std::adjacent_find(makers.begin(), makers.end()) != makers.end();
}

/// The steps that make each machine's element, combine steps where it has several makers.
std::vector<StepIndex> JoinMakers(const TreeElements& elements, std::int64_t places, Plan* plan) {
  std::vector<StepIndex> joined;
  std::int32_t number = 0;
  for (std::size_t i = 0; i < elements.makers.size(); ++i) {
    const std::vector<StepIndex>& makers = elements.makers[i];
    if (makers.size() == 1) {
      joined.push_back(makers[0]);
      continue;
    }
    ComputeStep step;
    step.kind = StepKind::kCombine;
    step.layer = static_cast<std::int32_t>(elements.layer) + 1;
    step.index_in_layer = number++;
    step.worker = elements.workers[i];
    step.start_s = elements.ready_s[i];
    step.after_steps = makers;
    joined.push_back(static_cast<StepIndex>(plan->steps.size()));
    for (const StepIndex maker : makers) {
      plan->sections.push_back({maker, joined.back(), 0, IndexRange{0, places}});
    }
    plan->steps.push_back(std::move(step));
  }
  return joined;
}

/// Bytes that the makers of a layer's elements write, all together.
double MadeBytes(const Plan& plan, const TreeElements& elements) {
  double made_bytes = 0;
  for (const std::vector<StepIndex>& makers : elements.makers) {
    for (const StepIndex maker : makers) {
      made_bytes += static_cast<double>(plan.steps[static_cast<std::size_t>(maker)].output_bytes);
    }
  }
  return made_bytes;
}

/// Adds one layer to a plan: a tree for each reducer, then the reduce steps.
class LayerTrees {
 public:
  /// `cuts`: places up to the end of each reducer's keys.
  LayerTrees(const JobShape& shape, const ClusterProfile& cluster, const TreeElements& elements,
             const tree::Schedule& schedule, std::vector<std::int64_t> cuts, Plan* plan)
      : shape_(shape),
        cluster_(cluster),
        elements_(elements),
        schedule_(schedule),
        layer_(shape.layers[elements.layer]),
        cuts_(std::move(cuts)),
        num_reducers_(static_cast<std::int32_t>(cuts_.size())),
        plan_(*plan) {
    options_.layer = static_cast<std::int32_t>(elements.layer) + 1;
    options_.ready_s = elements.ready_s;
    for (const WorkerIndex worker : elements.workers) {
      options_.combine_slowdown.push_back(
          1 / cluster.workers[static_cast<std::size_t>(worker)].compute_rate);
    }
  }

  absl::Status Append() {
    const std::size_t first_section = plan_.sections.size();
    joined_ = JoinMakers(elements_, layer_.element.places, &plan_);
    tree_bytes_ = std::max<Bytes>(
        static_cast<Bytes>(schedule_.segment_units.size()),
        std::llround(TypicalPartialBytes(shape_, plan_, elements_) / num_reducers_));
    for (std::int32_t k = 0; k < num_reducers_; ++k) {
      if (absl::Status status = AddTree(k); !status.ok()) return status;
    }
    // Behind all combine steps, so that the next layer finds them together.
    const auto first_reducer = static_cast<StepIndex>(plan_.steps.size());
    AddReducers(first_reducer);
    TreeSizes(shape_, cluster_, elements_, &plan_).Size(first_section, plan_.sections.size());
    TimeReducers(first_reducer);
    return absl::OkStatus();
  }

 private:
  /// What a tree leaves for its reducer.
  struct Root {
    WorkerIndex worker = 0;
    std::vector<StepIndex> results;
    std::vector<IndexRange> places;  // of each result
  };

  IndexRange PlacesOf(std::int32_t reducer) const {
    const auto at = static_cast<std::size_t>(reducer);
    return {reducer == 0 ? 0 : cuts_[at - 1], cuts_[at]};
  }

  tree::Schedule ScheduleOf(std::int32_t reducer) const {
    tree::Schedule tree = schedule_;
    // Roots of one worker are neighbours, as the next layer may want them.
    const std::int64_t spread =
        std::int64_t{reducer} * std::min(num_reducers_, schedule_.num_machines) / num_reducers_;
    const auto root =
        static_cast<tree::MachineIndex>((schedule_.root + spread) % schedule_.num_machines);
    if (root != schedule_.root && layer_.element.commutative) {
      std::vector<tree::MachineIndex> name(elements_.workers.size());
      std::iota(name.begin(), name.end(), 0);
      std::swap(name[static_cast<std::size_t>(root)],
                name[static_cast<std::size_t>(schedule_.root)]);
      tree::RenameMachines(name, tree);
    }
    return tree;
  }

  absl::Status AddTree(std::int32_t reducer) {
    const tree::Schedule tree = ScheduleOf(reducer);
    const absl::StatusOr<tree::RunList> runs = tree::FollowRuns(tree);
    if (!runs.ok()) return runs.status();
    options_.join_result = ResultsNeedAJoin(*runs);
    const std::size_t first_of_tree = plan_.sections.size();
    // Timed by the bytes of a typical partial result, addressed by the places of the element.
    const std::vector<std::int64_t> byte_borders = Borders(tree_bytes_, tree.segment_units);
    const std::vector<std::int64_t> borders =
        SegmentBorders(layer_, PlacesOf(reducer), tree.segment_units);
    absl::StatusOr<std::vector<StepIndex>> results =
        tree::AppendReduction(tree, joined_, tree_bytes_, 0, &plan_, options_);
    if (!results.ok()) return results.status();
    const auto place_of = [&](std::int64_t byte) {
      return borders[static_cast<std::size_t>(
          std::lower_bound(byte_borders.begin(), byte_borders.end(), byte) - byte_borders.begin())];
    };
    for (std::size_t i = first_of_tree; i < plan_.sections.size(); ++i) {
      IndexRange& range = *plan_.sections[i].indexes;
      range = {place_of(range.begin), place_of(range.end)};
    }
    Root& made = roots_.emplace_back();
    made.worker = elements_.workers[static_cast<std::size_t>(tree.root)];
    made.results = *std::move(results);
    for (const tree::SegmentRun& run : runs->results) {
      const IndexRange held{borders[static_cast<std::size_t>(run.segment_begin)],
                            borders[static_cast<std::size_t>(run.segment_end)]};
      if (made.results.size() > 1 || made.places.empty()) made.places.push_back(held);
      made.places.back().end = held.end;
    }
    return absl::OkStatus();
  }

  Seconds CombinedAt() const {
    Seconds end_s = *std::max_element(elements_.ready_s.begin(), elements_.ready_s.end());
    for (const ComputeStep& step : plan_.steps) {
      if (step.kind->combines) end_s = std::max(end_s, step.start_s + step.duration_s);
    }
    return end_s;
  }

  void AddReducers(StepIndex first_reducer) {
    const Seconds end_s = CombinedAt();
    const double made_bytes = MadeBytes(plan_, elements_);
    const auto all = static_cast<double>(layer_.element.places);
    for (std::int32_t k = 0; k < num_reducers_; ++k) {
      const Root& root = roots_[static_cast<std::size_t>(k)];
      const IndexRange places = PlacesOf(k);
      ComputeStep reduce;
      reduce.kind = StepKind::kReduce;
      reduce.layer = options_.layer;
      reduce.index_in_layer = k;
      reduce.worker = root.worker;
      reduce.key_begin = static_cast<double>(places.begin) / all;
      reduce.key_end = static_cast<double>(places.end) / all;
      reduce.load_fraction =
          ShareBelowPlace(layer_, places.end) - ShareBelowPlace(layer_, places.begin);
      reduce.output_bytes =
          std::llround(layer_.output_ratio.value * made_bytes * reduce.load_fraction);
      reduce.start_s = end_s;
      for (std::size_t i = 0; i < root.results.size(); ++i) {
        const StepIndex result = root.results[i];
        plan_.sections.push_back({result, first_reducer + k, 0, root.places[i]});
        reduce.after_steps.push_back(result);
      }
      plan_.steps.push_back(std::move(reduce));
    }
  }

  /// Once the sections that they read have their bytes.
  void TimeReducers(StepIndex first_reducer) {
    for (std::size_t k = 0; k < roots_.size(); ++k) {
      ComputeStep& reduce = plan_.steps[static_cast<std::size_t>(first_reducer) + k];
      reduce.duration_s = ReduceStepSeconds(
          shape_, elements_.layer, cluster_, reduce.worker, static_cast<double>(reduce.input_bytes),
          static_cast<double>(roots_[k].results.size()), roots_.size());
    }
  }

  const JobShape& shape_;
  const ClusterProfile& cluster_;
  const TreeElements& elements_;
  const tree::Schedule& schedule_;
  const LayerShape& layer_;
  const std::vector<std::int64_t> cuts_;
  const std::int32_t num_reducers_;
  Plan& plan_;
  tree::ReductionOptions options_;
  std::vector<StepIndex> joined_;  // the steps that make each machine's element
  Bytes tree_bytes_ = 0;           // of a typical partial result of one reducer
  std::vector<Root> roots_;        // by reducer
};

}  // namespace

std::vector<std::int64_t> SegmentBorders(const LayerShape& layer, const IndexRange& places,
                                         const std::vector<double>& segment_units) {
  const std::int64_t size = places.end - places.begin;
  std::vector<std::int64_t> borders = Borders(size, segment_units);
  for (std::int64_t& border : borders) border += places.begin;
  const auto segments = static_cast<std::int64_t>(segment_units.size());
  if (layer.element.kind != ElementShape::Kind::kTable || layer.key_weights.uniform() ||
      segments > size) {
    return borders;
  }
  const double sum = std::accumulate(segment_units.begin(), segment_units.end(), 0.0);
  std::vector<double> fractions = segment_units;
  for (double& fraction : fractions) fraction /= sum;
  const auto all = static_cast<double>(layer.element.places);
  const std::vector<double> ends =
      CutKeyRange(layer.key_weights, static_cast<double>(places.begin) / all,
                  static_cast<double>(places.end) / all, fractions);
  for (std::int64_t k = 1; k < segments; ++k) {
    const auto at = static_cast<std::size_t>(k);
    // A key that fills several segments would leave others without places.
    borders[at] = std::clamp<std::int64_t>(std::llround(ends[at - 1] * all), borders[at - 1] + 1,
                                           places.end - (segments - k));
  }
  return borders;
}

absl::StatusOr<TreeElements> ElementsOf(const JobShape& shape, const Plan& plan, std::size_t layer,
                                        StepIndex first) {
  TreeElements elements;
  elements.layer = layer;
  elements.part_of_step.resize(plan.steps.size(), 0);
  std::map<WorkerIndex, std::size_t> machine_of;
  WorkerIndex before = -1;
  for (auto s = static_cast<std::size_t>(first); s < plan.steps.size(); ++s) {
    const ComputeStep& step = plan.steps[s];
    const auto [machine, is_new] = machine_of.try_emplace(step.worker, elements.workers.size());
    if (is_new) {
      elements.workers.push_back(step.worker);
      elements.makers.emplace_back();
      elements.ready_s.push_back(0);
    } else if (step.worker != before && !shape.layers[layer].element.commutative) {
      return absl::FailedPreconditionError(
          absl::StrCat("Worker ", step.worker, " makes step ", s,
                       " and others that are no neighbours of it in the order of the input"));
    }
    before = step.worker;
    elements.makers[machine->second].push_back(static_cast<StepIndex>(s));
    elements.part_of_step[s] =
        static_cast<double>(layer == 0 ? step.input_bytes : step.output_bytes);
    // Steps of a worker run one after the other.
    Seconds& ready_s = elements.ready_s[machine->second];
    ready_s = std::max({ready_s, step.release_s, layer == 0 ? 0 : step.start_s}) + step.duration_s;
  }
  return elements;
}

double TypicalPartialBytes(const JobShape& shape, const Plan& plan, const TreeElements& elements) {
  double part = 0;
  for (const std::vector<StepIndex>& makers : elements.makers) {
    for (const StepIndex maker : makers) {
      part += elements.part_of_step[static_cast<std::size_t>(maker)];
    }
  }
  const auto machines = static_cast<double>(elements.workers.size());
  return (MadeBytes(plan, elements) / machines + ElementBytes(shape, elements.layer, part)) / 2;
}

absl::Status AppendTreeLayer(const JobShape& shape, const ClusterProfile& cluster,
                             const TreeElements& elements, const tree::Schedule& schedule,
                             std::int32_t num_reducers, Plan* plan) {
  absl::StatusOr<std::vector<std::int64_t>> cuts =
      CutPlaces(shape.layers[elements.layer], num_reducers);
  if (!cuts.ok()) return cuts.status();
  return LayerTrees(shape, cluster, elements, schedule, *std::move(cuts), plan).Append();
}

}  // namespace weir::planner
