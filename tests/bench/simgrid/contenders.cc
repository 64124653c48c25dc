#include "tests/bench/simgrid/contenders.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/choice/best_count.h"
#include "planner/tree/choice/selection.h"
#include "planner/tree/hosts/racks.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/rack_schedules.h"
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
  return tree::BestCount(kMessagesMax / reduction.tree.num_hosts(), /*refines=*/false,
                         /*gives_up=*/true, [&](std::int64_t q) {
                           return build(tree::EqualSegments(static_cast<double>(reduction.bytes),
                                                            static_cast<std::int32_t>(q)));
                         });
}

// The racks are the leaves of the tree.
tree::Racks RacksOfTree(const Reduction& reduction) {
  return tree::RacksOf(NetworkOfTree(reduction.tree, true), 0);
}

// Without lanes what crosses shares the cut: see ReductionProblem::shares_cuts.
planner::Seconds LanesEarly(const Reduction& reduction, bool with_cuts) {
  return with_cuts ? 0 : CostsOf(reduction).alpha_s;
}

absl::StatusOr<Schedule> RackTree(const Reduction& reduction, tree::RackShape shape,
                                  bool with_cuts) {
  const planner::NetworkModel network = NetworkOfTree(reduction.tree, true);
  const tree::Racks racks = RacksOfTree(reduction);
  return BestPowerOfTwo(reduction, [&](std::vector<double> units) {
    return tree::RackTreeSchedule(
        racks, shape, std::move(units),
        {CostsOf(reduction), PortModel{}, network, LanesEarly(reduction, with_cuts)});
  });
}

// `build` takes racks, costs and a number of parts.
template <typename InParts>
absl::StatusOr<Schedule> BestParts(const Reduction& reduction, bool with_cuts,
                                   const InParts& build) {
  const planner::NetworkModel network = NetworkOfTree(reduction.tree, true);
  const tree::Racks racks = RacksOfTree(reduction);
  const tree::RackCosts costs{CostsOf(reduction), PortModel{}, network,
                              LanesEarly(reduction, with_cuts)};
  return tree::BestCount(16, /*refines=*/false, /*gives_up=*/true, [&](std::int64_t parts) {
    return build(racks, costs, static_cast<std::int32_t>(parts));
  });
}

absl::StatusOr<Schedule> NearFirst(const Reduction& reduction, bool with_cuts) {
  return BestParts(reduction, with_cuts,
                   [&](const tree::Racks& racks, const tree::RackCosts& costs, std::int32_t parts) {
                     return tree::NearFirstSchedule(racks, static_cast<double>(reduction.bytes),
                                                    parts, costs);
                   });
}

// As many rails as a rack allows, or as it has uplinks.
absl::StatusOr<Schedule> Rails(const Reduction& reduction, bool all, bool with_cuts) {
  return BestParts(reduction, with_cuts,
                   [&](const tree::Racks& racks, const tree::RackCosts& costs, std::int32_t parts) {
                     const std::int32_t rails =
                         all ? tree::MostRails(racks) : std::max(1, reduction.tree.uplinks);
                     return tree::RackRailsSchedule(racks, static_cast<double>(reduction.bytes),
                                                    rails, parts, costs);
                   });
}

struct NamedFamily {
  const char* name;
  std::function<absl::StatusOr<Schedule>(const Reduction&, bool with_cuts)> build;
};

Build OfTrees(const char* name, std::vector<tree::Receivers> trees, const LinkCosts& costs) {
  return [=](std::vector<double> units) {
    return tree::ListSchedule(name, trees, std::move(units), costs, PortModel{});
  };
}

const std::vector<NamedFamily>& Families() {
  static const auto* const families = new std::vector<NamedFamily>{
      {"binomial",
       [](const Reduction& r, bool) {
         return OfTrees("binomial", {tree::BinomialShape(r.tree.num_hosts())},
                        CostsOf(r))({static_cast<double>(r.bytes)});
       }},
      {"binary",
       [](const Reduction& r, bool) {
         return BestPowerOfTwo(
             r, OfTrees("binary", {tree::BinaryShape(r.tree.num_hosts())}, CostsOf(r)));
       }},
      {"two-tree",
       [](const Reduction& r, bool) {
         auto [first, second] = tree::TwoTreeShapes(r.tree.num_hosts());
         return BestPowerOfTwo(r, OfTrees("two-tree", {first, second}, CostsOf(r)));
       }},
      {"pipeline",
       [](const Reduction& r, bool) {
         return BestPowerOfTwo(
             r, OfTrees("pipeline", {tree::PipelineShape(r.tree.num_hosts())}, CostsOf(r)));
       }},
      {"round-optimal",
       [](const Reduction& r, bool) {
         return BestPowerOfTwo(r, [&r](std::vector<double> units) {
           return tree::CirculantSchedule(r.tree.num_hosts(), std::move(units), CostsOf(r),
                                          PortModel{});
         });
       }},
      {"rabenseifner",
       [](const Reduction& r, bool) {
         return tree::RabenseifnerSchedule(r.tree.num_hosts(), static_cast<double>(r.bytes),
                                           CostsOf(r), PortModel{});
       }},
      {"rabenseifner, near first", NearFirst},
      {"reduce-scatter and gather",
       [](const Reduction& r, bool) {
         return tree::ReduceScatterSchedule(r.tree.num_hosts(), static_cast<double>(r.bytes),
                                            CostsOf(r), PortModel{});
       }},
      {"rack binomial",
       [](const Reduction& r, bool cuts) { return RackTree(r, tree::RackShape::kBinomial, cuts); }},
      {"rack pipeline",
       [](const Reduction& r, bool cuts) { return RackTree(r, tree::RackShape::kPipeline, cuts); }},
      {"rack two-tree",
       [](const Reduction& r, bool cuts) { return RackTree(r, tree::RackShape::kTwoTree, cuts); }},
      {"rack rails", [](const Reduction& r, bool cuts) { return Rails(r, true, cuts); }},
      {"rack rails, one an uplink",
       [](const Reduction& r, bool cuts) { return Rails(r, false, cuts); }},
  };
  return *families;
}

}  // namespace

std::vector<std::string> FamilyNames() {
  std::vector<std::string> names;
  for (const NamedFamily& family : Families()) names.emplace_back(family.name);
  return names;
}

absl::StatusOr<Contender> Chosen(const Reduction& reduction, bool knows_cuts, bool with_cuts) {
  tree::ReductionProblem problem;
  problem.num_machines = reduction.tree.num_hosts();
  problem.element_units = static_cast<double>(reduction.bytes);
  problem.costs = CostsOf(reduction);
  if (knows_cuts) problem.cuts = NetworkOfTree(reduction.tree, true).cuts;
  problem.shares_cuts = !with_cuts;
  absl::StatusOr<tree::ReductionChoice> choice = tree::ChooseReduction(problem);
  if (!choice.ok()) return choice.status();
  return PlanOf(choice->schedule, reduction, with_cuts);
}

absl::StatusOr<Contender> Family(const std::string& name, const Reduction& reduction,
                                 bool with_cuts) {
  for (const NamedFamily& family : Families()) {
    if (family.name != name) continue;
    absl::StatusOr<Schedule> schedule = family.build(reduction, with_cuts);
    if (!schedule.ok()) return schedule.status();
    return PlanOf(*schedule, reduction, with_cuts);
  }
  return absl::NotFoundError(absl::StrCat("no family is called ", name));
}

}  // namespace weir::bench
