#include "tests/bench/simgrid/contenders.h"

#include <bit>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/choice/selection.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/reduce_scatter.h"
#include "planner/tree/segments/tree_shapes.h"
#include "planner/tree/write/tree_plan.h"

namespace weir::bench {

namespace {

namespace tree = planner::tree;
using tree::LinkCosts;
using tree::PortModel;
using tree::Schedule;

/// Messages of one schedule: as many as ChooseReduction allows itself.
constexpr std::int64_t kMessagesMax = 1 << 19;

// One unit is one byte.
LinkCosts CostsOf(const Reduction& reduction) {
  const planner::NetworkModel network = NetworkOfTree(reduction.tree, false);
  return {network.latency_s, network.seconds_per_byte, reduction.combine_seconds_per_byte};
}

absl::StatusOr<Contender> PlanOf(const Schedule& schedule, const Reduction& reduction,
                                 bool with_cuts) {
  absl::StatusOr<planner::Plan> plan =
      tree::ReductionPlan(schedule, NetworkOfTree(reduction.tree, with_cuts), reduction.bytes);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<planner::Prediction> prediction = planner::Predict(*plan);
  if (!prediction.ok()) return prediction.status();
  Contender contender;
  contender.name = schedule.method;
  contender.num_segments = static_cast<std::int64_t>(schedule.segment_units.size());
  contender.plan = *std::move(plan);
  contender.predicted_s = prediction->makespan_s;
  contender.scheduled_s = schedule.makespan_s;
  return contender;
}

using Build = std::function<absl::StatusOr<Schedule>(std::vector<double> units)>;

// More segments help until their start-ups cost more than they gain.
absl::StatusOr<Schedule> BestPowerOfTwo(const Reduction& reduction, const Build& build) {
  absl::StatusOr<Schedule> best = build({static_cast<double>(reduction.bytes)});
  for (std::int32_t q = 2; best.ok() && q * reduction.tree.num_hosts() <= kMessagesMax; q *= 2) {
    absl::StatusOr<Schedule> next =
        build(tree::EqualSegments(static_cast<double>(reduction.bytes), q));
    if (!next.ok()) return next;
    if (next->makespan_s >= best->makespan_s) break;
    best = std::move(next);
  }
  return best;
}

// Rabenseifner's rounds pair machines half of all apart first. With their numbers read backwards,
// bit by bit, neighbours come first: most bytes then stay below a leaf.
absl::StatusOr<Schedule> RabenseifnerNearFirst(const Reduction& reduction) {
  const std::int32_t p = reduction.tree.num_hosts();
  if (!std::has_single_bit(static_cast<std::uint32_t>(p))) {
    return absl::InvalidArgumentError(absl::StrCat("p is ", p, "; it must be a power of 2"));
  }
  absl::StatusOr<Schedule> schedule = tree::RabenseifnerSchedule(
      p, static_cast<double>(reduction.bytes), CostsOf(reduction), PortModel{});
  if (!schedule.ok()) return schedule;
  std::vector<tree::MachineIndex> name(planner::At(p));
  for (std::int32_t i = 0; i < p; ++i) {
    for (std::int32_t bit = 1; bit < p; bit *= 2) {
      name[planner::At(i)] = 2 * name[planner::At(i)] + ((i & bit) != 0 ? 1 : 0);
    }
  }
  tree::RenameMachines(name, *schedule);
  schedule->method = "rabenseifner, near first";
  return schedule;
}

struct NamedFamily {
  const char* name;
  std::function<absl::StatusOr<Schedule>(const Reduction&)> build;
};

Build OfTrees(const char* name, std::vector<tree::Receivers> trees, const LinkCosts& costs) {
  return [=](std::vector<double> units) {
    return tree::ListSchedule(name, trees, std::move(units), costs, PortModel{});
  };
}

const std::vector<NamedFamily>& Families() {
  static const auto* const families = new std::vector<NamedFamily>{
      {"binomial",
       [](const Reduction& r) {
         return OfTrees("binomial", {tree::BinomialShape(r.tree.num_hosts())},
                        CostsOf(r))({static_cast<double>(r.bytes)});
       }},
      {"binary",
       [](const Reduction& r) {
         return BestPowerOfTwo(
             r, OfTrees("binary", {tree::BinaryShape(r.tree.num_hosts())}, CostsOf(r)));
       }},
      {"two-tree",
       [](const Reduction& r) {
         auto [first, second] = tree::TwoTreeShapes(r.tree.num_hosts());
         return BestPowerOfTwo(r, OfTrees("two-tree", {first, second}, CostsOf(r)));
       }},
      {"pipeline",
       [](const Reduction& r) {
         return BestPowerOfTwo(
             r, OfTrees("pipeline", {tree::PipelineShape(r.tree.num_hosts())}, CostsOf(r)));
       }},
      {"round-optimal",
       [](const Reduction& r) {
         return BestPowerOfTwo(r, [&r](std::vector<double> units) {
           return tree::CirculantSchedule(r.tree.num_hosts(), std::move(units), CostsOf(r),
                                          PortModel{});
         });
       }},
      {"rabenseifner",
       [](const Reduction& r) {
         return tree::RabenseifnerSchedule(r.tree.num_hosts(), static_cast<double>(r.bytes),
                                           CostsOf(r), PortModel{});
       }},
      {"rabenseifner, near first", [](const Reduction& r) { return RabenseifnerNearFirst(r); }},
      {"reduce-scatter and gather",
       [](const Reduction& r) {
         return tree::ReduceScatterSchedule(r.tree.num_hosts(), static_cast<double>(r.bytes),
                                            CostsOf(r), PortModel{});
       }},
  };
  return *families;
}

}  // namespace

std::vector<std::string> FamilyNames() {
  std::vector<std::string> names;
  for (const NamedFamily& family : Families()) names.emplace_back(family.name);
  return names;
}

absl::StatusOr<Contender> Chosen(const Reduction& reduction, bool with_cuts) {
  tree::ReductionProblem problem;
  problem.num_machines = reduction.tree.num_hosts();
  problem.element_units = static_cast<double>(reduction.bytes);
  problem.costs = CostsOf(reduction);
  absl::StatusOr<tree::ReductionChoice> choice = tree::ChooseReduction(problem);
  if (!choice.ok()) return choice.status();
  return PlanOf(choice->schedule, reduction, with_cuts);
}

absl::StatusOr<Contender> Family(const std::string& name, const Reduction& reduction,
                                 bool with_cuts) {
  for (const NamedFamily& family : Families()) {
    if (family.name != name) continue;
    absl::StatusOr<Schedule> schedule = family.build(reduction);
    if (!schedule.ok()) return schedule.status();
    return PlanOf(*schedule, reduction, with_cuts);
  }
  return absl::NotFoundError(absl::StrCat("no family is called ", name));
}

}  // namespace weir::bench
