#include "tests/unit/master/tree_plans.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/tree/write/tree_plan.h"
#include "tests/unit/planner_tree/plan_families.h"

namespace weir::master {
namespace {

using planner::At;
using planner::StepIndex;

constexpr planner::Bytes kPlaceBytes = 8;

/// Reads the results of the tree in place, and makes the only part.
void AddRoot(const std::vector<StepIndex>& results, planner::Bytes element_bytes,
             std::int64_t num_places, planner::Plan& plan) {
  planner::ComputeStep root;
  root.kind = planner::StepKind::kReduce;
  root.layer = 1;
  root.worker = plan.steps[At(results.front())].worker;
  root.input_bytes = element_bytes;
  root.load_fraction = 1;
  root.key_end = 1;
  root.after_steps = results;
  const auto index = static_cast<StepIndex>(plan.steps.size());
  plan.steps.push_back(root);
  plan.compute_order[At(root.worker)].push_back(index);
  // One step holds the whole result, or a single machine its own element.
  plan.sections.push_back(
      {results.front(), index, element_bytes, planner::IndexRange{0, num_places}});
}

/// Borders that are the same stay so.
void SetPlaces(std::int64_t from, std::int64_t to, planner::Plan& plan) {
  const auto scaled = [from, to](std::int64_t place) {
    return static_cast<std::int64_t>(
        absl::Uint128Low64(absl::uint128(static_cast<std::uint64_t>(place)) *
                           static_cast<std::uint64_t>(to) / static_cast<std::uint64_t>(from)));
  };
  for (planner::Section& section : plan.sections) {
    section.indexes =
        planner::IndexRange{scaled(section.indexes->begin), scaled(section.indexes->end)};
  }
}

}  // namespace

planner::Plan TreePlanOf(const TreeJob& job, std::uint64_t seed, bool keeps_order) {
  std::mt19937_64 draw(seed);
  const auto between = [&draw](int min, int max) {
    return std::uniform_int_distribution<int>(min, max)(draw);
  };
  std::vector<planner::tree::Family> families = planner::tree::AllFamilies();
  if (keeps_order) {
    const auto out_of_order = [](const planner::tree::Family& family) {
      return !family.keeps_order;
    };
    families.erase(std::remove_if(families.begin(), families.end(), out_of_order), families.end());
  }
  planner::tree::FamilyInput in;
  in.num_machines = job.num_machines;
  in.num_segments = between(1, 6);
  in.costs = {static_cast<double>(between(0, 3)), 1, static_cast<double>(between(0, 3))};
  in.limit = between(1, job.num_machines);
  for (int i = 0; i < job.num_machines; ++i) {
    in.ready_s.push_back(between(0, 20));
    in.slowdown.push_back(between(1, 3));
  }
  const planner::tree::Family& family =
      families[static_cast<std::size_t>(between(0, static_cast<int>(families.size()) - 1))];
  const planner::tree::FamilySchedule made = family.build(in);
  SCOPED_TRACE(absl::StrCat("family ", family.name, ", seed ", seed));

  planner::Plan plan;
  plan.network = job.network;
  plan.transfer_order = planner::TransferOrder::kStrict;
  plan.summary.method = family.name;
  const planner::Bytes element_bytes =
      job.element_bytes > 0 ? job.element_bytes : made.num_places * kPlaceBytes;
  const planner::Bytes place_bytes = job.element_bytes > 0 ? 1 : kPlaceBytes;
  std::vector<StepIndex> elements =
      planner::tree::AddElements(job.num_machines, element_bytes, {}, &plan);
  for (const StepIndex element : elements) {
    planner::ComputeStep& map = plan.steps[At(element)];
    map.input_begin = job.input_bytes * element / job.num_machines;
    map.input_end = job.input_bytes * (element + 1) / job.num_machines;
    map.input_bytes = map.input_end - map.input_begin;
    map.duration_s = static_cast<double>(map.input_bytes) * job.map_seconds_per_byte;
    plan.compute_order.push_back({element});
  }
  planner::tree::ReductionOptions options;
  options.place_bytes = place_bytes;
  options.join_result = true;
  const auto results =
      planner::tree::AppendReduction(made.schedule, elements, element_bytes, 0, &plan, options);
  EXPECT_TRUE(results.ok()) << results.status();
  AddRoot(*results, element_bytes, element_bytes / place_bytes, plan);
  if (job.places > 0) SetPlaces(element_bytes / place_bytes, job.places, plan);
  const absl::Status ordered = planner::OrderByStart(&plan);
  EXPECT_TRUE(ordered.ok()) << ordered;
  const absl::Status holds = planner::CheckPlan(plan);
  EXPECT_TRUE(holds.ok()) << holds;
  return plan;
}

planner::Plan RandomTreePlan(std::uint64_t seed) {
  std::mt19937_64 draw(seed + 1);
  const auto between = [&draw](int min, int max) {
    return std::uniform_int_distribution<int>(min, max)(draw);
  };
  TreeJob job;
  job.num_machines = between(1, 8);
  job.network.num_workers = job.num_machines;
  job.network.seconds_per_byte = 0.01 * between(1, 100);
  job.network.latency_s = 0.1 * between(0, 5);
  if (between(0, 2) == 0) {
    for (int i = 0; i < job.num_machines; ++i) job.network.port_slowdown.push_back(between(1, 3));
  }
  if (between(0, 1) == 0) {
    planner::Cut cut;
    cut.name = "cut";
    cut.from.assign(static_cast<std::size_t>(job.num_machines), true);
    cut.to = cut.from;
    cut.channels = between(1, 3);
    job.network.cuts.push_back(cut);
  }
  job.input_bytes = between(0, 1000);
  job.map_seconds_per_byte = 0.01 * between(0, 10);
  return TreePlanOf(job, seed, between(0, 1) == 0);
}

}  // namespace weir::master
