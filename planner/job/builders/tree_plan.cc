#include "planner/job/builders/tree_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/job/builders/tree_layer.h"
#include "planner/job/job_bound.h"
#include "planner/job/job_drafts.h"
#include "planner/job/map_chunks.h"
#include "planner/job/store_steps.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/planning_effort.h"
#include "planner/order/transfer_orders.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner {
namespace {

// Time of building and predicting one message of one plan.
constexpr Seconds kTreeSecondsPerMessage = 2e-5;
// What one choice of trees under cuts costs a machine.
constexpr Seconds kRackSecondsPerMachine = 1e-3;
// What all plans of a job may cost together, counted.
constexpr Seconds kTreePlanningMax = 0.2;

/// One way to combine: which schedule of how many segments at most, and how many reducers the
/// layers between have.
struct TreeWay {
  std::string method;  // empty: the first that is offered
  std::int64_t segments_max = 1;
  bool by_racks = false;  // chosen under the network's cuts
  bool one_root_between = false;
};

/// The reducers that each layer of a plan has, by index_in_layer.
std::vector<std::vector<WorkerIndex>> ReducersOf(const JobShape& shape, const Plan& plan) {
  std::vector<std::vector<WorkerIndex>> reducers(shape.layers.size());
  for (const ComputeStep& step : plan.steps) {
    if (step.kind->splits_keys()) {
      reducers[static_cast<std::size_t>(step.layer) - 1].push_back(step.worker);
    }
  }
  return reducers;
}

/// The mappers of a plan, whose runs may be packed otherwise than those of `shape`.
absl::StatusOr<std::vector<MapperDraft>> MappersOf(const JobShape& shape,
                                                   const ClusterProfile& cluster,
                                                   const Plan& plan) {
  std::vector<Bytes> chunks;
  std::vector<WorkerIndex> workers;
  for (const ComputeStep& step : plan.steps) {
    if (!step.kind->reads_input()) continue;
    chunks.push_back(step.input_bytes);
    workers.push_back(step.worker);
  }
  return DraftMappers(shape, cluster, chunks, workers);
}

/// One mapper a worker by its rate; where more were asked for, neighbours share a worker.
absl::StatusOr<std::vector<MapperDraft>> MappersByRate(const JobShape& shape,
                                                       const ClusterProfile& cluster) {
  const auto num_workers = static_cast<std::int32_t>(cluster.workers.size());
  const std::int32_t count = shape.num_mappers > 0 ? shape.num_mappers : num_workers;
  std::vector<WorkerIndex> workers;
  std::vector<double> shares;
  for (std::int32_t j = 0; j < count; ++j) {
    workers.push_back(
        static_cast<WorkerIndex>(std::int64_t{j} * std::min(count, num_workers) / count));
    shares.push_back(cluster.workers[static_cast<std::size_t>(workers.back())].compute_rate);
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  std::vector<Bytes> chunks = MapChunks(shape, shares);
  if (shape.num_mappers == 0) {
    std::vector<WorkerIndex> used;
    for (std::size_t j = 0; j < chunks.size(); ++j) {
      if (chunks[j] > 0) used.push_back(workers[j]);
    }
    std::erase(chunks, 0);
    if (chunks.empty()) chunks.push_back(0);
    if (used.empty()) used.push_back(0);
    workers = std::move(used);
  }
  return DraftMappers(shape, cluster, chunks, workers);
}

/// Builds the plans of one set of mappers.
class TreePlanner {
 public:
  TreePlanner(const JobShape& shape, const ClusterProfile& cluster, const Plan& shuffle)
      : shape_(shape),
        cluster_(cluster),
        reducers_(ReducersOf(shape, shuffle)),
        schedules_(shape, cluster) {}

  /// Returns the ways that are worth a plan, those of the first layer that is combined.
  std::vector<TreeWay> Ways(const std::vector<MapperDraft>& mappers) {
    std::vector<TreeWay> ways;
    offered_.clear();
    collect_ = true;
    (void)Build(mappers, {});
    collect_ = false;
    if (offered_.empty()) return {TreeWay{}};  // Build says why nothing applies
    std::set<std::tuple<bool, std::string, std::int64_t>> seen;
    std::vector<TreeWay> of_kind[2];
    for (const Offered& offered : offered_) {
      if (!seen.insert({offered.by_racks, offered.method, offered.segments}).second) continue;
      of_kind[offered.by_racks ? 0 : 1].push_back(
          {offered.method, offered.segments_max, offered.by_racks, false});
    }
    // In turns: whoever runs out of time has seen some of both.
    for (std::size_t i = 0; i < std::max(of_kind[0].size(), of_kind[1].size()); ++i) {
      for (const std::vector<TreeWay>& kind : of_kind) {
        if (i < kind.size()) ways.push_back(kind[i]);
      }
    }
    const bool open_between =
        std::any_of(shape_.layers.begin(), shape_.layers.end() - 1, [](const LayerShape& layer) {
          return layer.element.combines() && layer.num_reducers == 0;
        });
    if (open_between) {
      const std::size_t count = ways.size();
      for (std::size_t i = 0; i < count; ++i) {
        ways.push_back(ways[i]);
        ways.back().one_root_between = true;
      }
    }
    return ways;
  }

  absl::StatusOr<Plan> Build(std::vector<MapperDraft> mappers, const TreeWay& way) {
    if (shape_.layers[0].element.kind == ElementShape::Kind::kVector) {
      for (MapperDraft& mapper : mappers) {
        mapper.output_bytes = std::llround(ElementBytes(shape_, 0, 0));
      }
    }
    PlanAssembly assembly(cluster_.network);
    if (absl::Status status = assembly.AddMappers(mappers); !status.ok()) return status;
    Plan plan = assembly.TakePlan();
    for (std::vector<StepIndex>& order : plan.compute_order) {
      Seconds free_s = 0;
      for (const StepIndex step : order) {
        ComputeStep& map = plan.steps[static_cast<std::size_t>(step)];
        map.start_s = std::max(free_s, map.release_s);
        free_s = map.start_s + map.duration_s;
      }
    }
    StepIndex layer_begin = 0;
    segments_used_ = 0;
    method_used_.clear();
    for (std::size_t p = 0; p < shape_.layers.size(); ++p) {
      const auto next_begin = static_cast<StepIndex>(plan.steps.size());
      absl::Status status;
      if (shape_.layers[p].element.combines()) {
        status = AddTrees(p, layer_begin, way, plan);
        const auto count = static_cast<StepIndex>(NumReducers(p, way));
        layer_begin = static_cast<StepIndex>(plan.steps.size()) - count;
      } else {
        status = AddShuffle(p, layer_begin, plan);
        layer_begin = next_begin;
      }
      if (!status.ok()) return status;
    }
    if (absl::Status status = AddStore(layer_begin, plan); !status.ok()) return status;
    plan.compute_order.clear();
    plan.transfer_order = TransferOrder::kStrict;
    if (absl::Status status = OrderByStart(&plan); !status.ok()) return status;
    if (absl::Status status = LimitStore(shape_.store, plan); !status.ok()) return status;
    plan.summary.method = "tree";
    plan.summary.lower_bound_s =
        std::min(plan.summary.makespan_s, CombinedLowerBound(shape_, cluster_));
    return plan;
  }

  std::string LastName() const {
    return absl::StrCat("tree: ", method_used_, by_racks_used_ ? ", by racks, " : ", ",
                        segments_used_, segments_used_ == 1 ? " segment" : " segments");
  }

 private:
  struct Offered {
    std::string method;
    std::int64_t segments = 1;
    std::int64_t segments_max = 1;
    bool by_racks = false;
  };

  std::int32_t NumReducers(std::size_t p, const TreeWay& way) const {
    const LayerShape& layer = shape_.layers[p];
    if (layer.num_reducers > 0) return layer.num_reducers;
    if (p + 1 == shape_.layers.size() || way.one_root_between || !layer.element.splits) return 1;
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(1, reducers_[p].size()));
    return static_cast<std::int32_t>(std::min(count, layer.element.places));
  }

  absl::Status AddTrees(std::size_t p, StepIndex layer_begin, const TreeWay& way, Plan& plan) {
    const LayerShape& layer = shape_.layers[p];
    const std::int32_t num_reducers = NumReducers(p, way);
    if (num_reducers > 1 && !layer.element.splits) {
      return absl::InvalidArgumentError(
          absl::StrCat("Layer ", p + 1, " has ", num_reducers,
                       " reducers, but its values cannot be split among several trees"));
    }
    absl::StatusOr<TreeElements> elements = ElementsOf(shape_, plan, p, layer_begin);
    if (!elements.ok()) return elements.status();
    const double message_bytes = TypicalPartialBytes(shape_, plan, *elements) / num_reducers;
    const std::int64_t segments_max = SegmentsWorthAGrant(shape_, cluster_, layer.element,
                                                          elements->workers.size(), message_bytes);
    std::vector<const tree::Schedule*> schedules;
    for (const std::int64_t most : std::set<std::int64_t>{
             collect_ ? segments_max : std::min(segments_max, way.segments_max),
             collect_ ? (segments_max + 3) / 4 : std::min(segments_max, way.segments_max)}) {
      for (const bool by_racks : {true, false}) {
        if (!collect_ && by_racks != way.by_racks) continue;
        for (const tree::Schedule& schedule :
             schedules_.Of(*elements, message_bytes, num_reducers, most, by_racks)) {
          if (collect_ && offered_layer_.value_or(p) == p) {
            offered_.push_back({schedule.method,
                                static_cast<std::int64_t>(schedule.segment_units.size()), most,
                                by_racks});
          }
          schedules.push_back(&schedule);
        }
      }
    }
    if (collect_ && !offered_.empty()) offered_layer_ = p;
    if (schedules.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "No reduction tree fits what layer ", p + 1, " combines on ", elements->workers.size(),
          elements->workers.size() == 1 ? " worker" : " workers"));
    }
    const auto found = std::find_if(schedules.begin(), schedules.end(), [&](const auto* schedule) {
      return schedule->method == way.method;
    });
    const tree::Schedule& chosen = found == schedules.end() ? *schedules.front() : **found;
    segments_used_ = std::max<std::int64_t>(segments_used_,
                                            static_cast<std::int64_t>(chosen.segment_units.size()));
    if (method_used_.empty()) {
      method_used_ = chosen.method;
      by_racks_used_ = way.by_racks;
    }
    plan.compute_order.clear();
    return AppendTreeLayer(shape_, cluster_, *elements, chosen, num_reducers, &plan);
  }

  Seconds EndOf(const Plan& plan) const {
    Seconds end_s = 0;
    for (const ComputeStep& step : plan.steps) {
      end_s = std::max(end_s, step.start_s + step.duration_s);
    }
    return end_s;
  }

  /// Times of steps and transfers from here on: only their order counts.
  void StartFrom(std::size_t first_step, std::size_t first_transfer, Seconds begin_s,
                 Plan& plan) const {
    Seconds transfers_s = 0;
    for (std::size_t t = first_transfer; t < plan.transfers.size(); ++t) {
      plan.transfers[t].start_s = begin_s + transfers_s;
      transfers_s += plan.transfers[t].duration_s;
    }
    for (std::size_t s = first_step; s < plan.steps.size(); ++s) {
      plan.steps[s].start_s = begin_s + transfers_s;
    }
  }

  void FillComputeOrder(Plan& plan) const {
    plan.compute_order.assign(cluster_.workers.size(), {});
  }

  absl::Status AddShuffle(std::size_t p, StepIndex layer_begin, Plan& plan) {
    std::vector<WorkerIndex> workers = reducers_[p];
    if (workers.empty()) workers.push_back(0);
    const bool ordered = p + 1 < shape_.layers.size() && shape_.layers[p + 1].element.combines() &&
                         !shape_.layers[p + 1].element.commutative;
    if (ordered) std::sort(workers.begin(), workers.end());
    const std::vector<double> fractions(workers.size(), 1.0 / static_cast<double>(workers.size()));
    const auto producers = static_cast<std::int32_t>(plan.steps.size()) - layer_begin;
    const std::size_t first_step = plan.steps.size();
    const std::size_t first_transfer = plan.transfers.size();
    const Seconds begin_s = EndOf(plan);
    FillComputeOrder(plan);
    PlanAssembly assembly(std::move(plan), layer_begin, static_cast<std::int32_t>(p) + 1);
    absl::Status status = assembly.AddReducers(
        DraftReducers(shape_, p, static_cast<std::size_t>(producers), cluster_, fractions, workers),
        RotationPieces(producers, static_cast<std::int32_t>(workers.size())));
    plan = assembly.TakePlan();
    StartFrom(first_step, first_transfer, begin_s, plan);
    return status;
  }

  absl::Status AddStore(StepIndex layer_begin, Plan& plan) {
    if (shape_.store.write == FinalWrite::kParts) return absl::OkStatus();
    LayerDraft last;
    for (auto s = static_cast<std::size_t>(layer_begin); s < plan.steps.size(); ++s) {
      last.reducers.push_back({plan.steps[s].worker, plan.steps[s].load_fraction});
    }
    const std::size_t first_step = plan.steps.size();
    const std::size_t first_transfer = plan.transfers.size();
    const Seconds begin_s = EndOf(plan);
    FillComputeOrder(plan);
    PlanAssembly assembly(std::move(plan), layer_begin,
                          static_cast<std::int32_t>(shape_.layers.size()) + 1);
    absl::Status status = AddStoreSteps(shape_.store, last, begin_s, assembly);
    plan = assembly.TakePlan();
    StartFrom(first_step, first_transfer, begin_s, plan);
    return status;
  }

  const JobShape& shape_;
  const ClusterProfile& cluster_;
  std::vector<std::vector<WorkerIndex>> reducers_;
  TreeSchedules schedules_;
  // Ways() runs a build to see what is offered.
  bool collect_ = false;
  std::optional<std::size_t> offered_layer_;
  std::vector<Offered> offered_;
  std::int64_t segments_used_ = 0;
  std::string method_used_;
  bool by_racks_used_ = false;
};

}  // namespace

bool CanCombine(const JobShape& shape) {
  return std::any_of(shape.layers.begin(), shape.layers.end(),
                     [](const LayerShape& layer) { return layer.element.combines(); });
}

absl::StatusOr<TreePlans> TreePlansOfJob(const JobShape& shape, const ClusterProfile& cluster,
                                         const Plan& shuffle) {
  const absl::StatusOr<std::vector<MapperDraft>> shuffled = MappersOf(shape, cluster, shuffle);
  if (!shuffled.ok()) return shuffled.status();
  std::vector<std::vector<MapperDraft>> splits = {*shuffled};
  absl::StatusOr<std::vector<MapperDraft>> by_rate = MappersByRate(shape, cluster);
  if (by_rate.ok()) splits.push_back(*std::move(by_rate));
  TreePlanner planner(shape, cluster, shuffle);
  TreePlans plans;
  std::map<std::string, Seconds> best_of;
  absl::Status refusal = absl::FailedPreconditionError("nothing was tried");
  Seconds spent_s = 0;
  Seconds best_s = std::numeric_limits<double>::infinity();
  const Seconds budget_s = std::min(kTreePlanningMax, kPlanningPart * shuffle.summary.makespan_s);
  for (const std::vector<MapperDraft>& mappers : splits) {
    for (const TreeWay& way : planner.Ways(mappers)) {
      if (spent_s > budget_s && !plans.candidates.empty()) break;
      absl::StatusOr<Plan> plan = planner.Build(mappers, way);
      if (!plan.ok()) {
        refusal = plan.status();
        continue;
      }
      spent_s += kTreeSecondsPerMessage * static_cast<double>(plan->sections.size());
      if (way.by_racks) {
        spent_s += kRackSecondsPerMachine * static_cast<double>(cluster.workers.size());
      }
      const Seconds makespan_s = plan->summary.makespan_s;
      const auto [known, is_new] = best_of.try_emplace(planner.LastName(), makespan_s);
      known->second = std::min(known->second, makespan_s);
      if (is_new) plans.candidates.push_back({known->first, makespan_s});
      if (makespan_s >= best_s) continue;
      best_s = makespan_s;
      plans.plan = *std::move(plan);
    }
  }
  if (plans.candidates.empty()) return refusal;
  for (JobCandidate& candidate : plans.candidates) {
    candidate.makespan_s = best_of[candidate.name];
  }
  std::stable_sort(
      plans.candidates.begin(), plans.candidates.end(),
      [](const JobCandidate& a, const JobCandidate& b) { return a.makespan_s < b.makespan_s; });
  return plans;
}

}  // namespace weir::planner
