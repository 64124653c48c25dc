// Properties of plans of every family on random hosts: slow ports, cuts, slow combining, release
// dates, any root, sizes that segments do not divide.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/write/tree_plan.h"
#include "tests/unit/planner_tree/plan_families.h"
#include "tests/unit/planner_tree/plan_faults.h"

namespace weir::planner::tree {
namespace {

constexpr Bytes kPlaceBytes = 8;

template <typename Value>
std::vector<Value> DrawEach(std::int32_t count, int begin, int end) {
  std::vector<Value> values;
  for (std::int32_t i = 0; i < count; ++i) {
    values.push_back(static_cast<Value>(*rc::gen::inRange(begin, end)));
  }
  return values;
}

FamilyInput DrawInput() {
  FamilyInput in;
  in.num_machines = *rc::gen::inRange(1, 12);
  in.num_segments = *rc::gen::inRange(1, 7);
  in.costs = {static_cast<double>(*rc::gen::inRange(0, 4)), 1,
              static_cast<double>(*rc::gen::inRange(0, 4))};
  in.limit = *rc::gen::inRange(1, in.num_machines + 1);
  in.ready_s = DrawEach<Seconds>(in.num_machines, 0, 20);
  in.slowdown = DrawEach<double>(in.num_machines, 1, 4);
  return in;
}

// A cut between two random sets of workers, or over all pairs.
Cut DrawCut(std::int32_t num_workers) {
  Cut cut;
  cut.name = "cut";
  const bool all = *rc::gen::inRange(0, 2) == 0;
  for (std::int32_t i = 0; i < num_workers; ++i) {
    cut.from.push_back(all || *rc::gen::inRange(0, 2) == 0);
    cut.to.push_back(all || !cut.from.back());
  }
  cut.channels = *rc::gen::inRange(1, 4);
  return cut;
}

NetworkModel DrawNetwork(const FamilyInput& in) {
  NetworkModel network;
  network.num_workers = in.num_machines;
  network.seconds_per_byte = *rc::gen::inRange(0, 3) * 0.25;
  network.latency_s = *rc::gen::inRange(0, 3);
  if (*rc::gen::inRange(0, 2) == 0) network.port_slowdown = in.slowdown;
  for (int cuts = *rc::gen::inRange(0, 3); cuts > 0; --cuts) {
    network.cuts.push_back(DrawCut(in.num_machines));
  }
  return network;
}

ReductionOptions DrawOptions(const Family& family, const FamilyInput& in) {
  ReductionOptions options;
  options.ports = family.ports;
  options.place_bytes = kPlaceBytes;
  if (*rc::gen::inRange(0, 2) == 0) {
    options.combine_slowdown = DrawEach<double>(in.num_machines, 1, 5);
    for (double& slowdown : options.combine_slowdown) slowdown /= 2;
  }
  if (*rc::gen::inRange(0, 2) == 0) options.ready_s = in.ready_s;
  return options;
}

// Any root: all machines move on by a few numbers.
void Rotate(std::int32_t by, Schedule& schedule) {
  std::vector<MachineIndex> name;
  for (MachineIndex i = 0; i < schedule.num_machines; ++i) {
    name.push_back((i + by) % schedule.num_machines);
  }
  RenameMachines(name, schedule);
}

// No worker is faster than its ports and its combining.
Seconds BusiestPort(const Plan& plan) {
  std::vector<Seconds> sends(static_cast<std::size_t>(plan.network.num_workers), 0);
  std::vector<Seconds> receives = sends;
  for (const Transfer& transfer : plan.transfers) {
    sends[static_cast<std::size_t>(transfer.sender)] += transfer.duration_s;
    receives[static_cast<std::size_t>(transfer.receiver)] += transfer.duration_s;
  }
  return std::max(*std::max_element(sends.begin(), sends.end()),
                  *std::max_element(receives.begin(), receives.end()));
}

class FamilyPlansProperty : public ::testing::TestWithParam<Family> {};

TEST_P(FamilyPlansProperty, AreRightOnAnyHosts) {
  const Family& family = GetParam();
  const bool ok = rc::check(family.name, [&family] {
    const FamilyInput in = DrawInput();
    FamilySchedule made = family.build(in);
    if (!family.keeps_order) Rotate(*rc::gen::inRange(0, in.num_machines), made.schedule);
    const auto num_places = static_cast<std::int64_t>(*rc::gen::inRange(0, 40));
    const auto plan = ReductionPlan(made.schedule, DrawNetwork(in), num_places * kPlaceBytes, {},
                                    DrawOptions(family, in));
    RC_ASSERT(plan.status() == absl::OkStatus());
    RC_ASSERT(CheckPlan(*plan) == absl::OkStatus());
    RC_ASSERT(OrderFault(*plan, made.schedule) == "");
    if (num_places > 0) {
      RC_ASSERT(ResultFault(*plan, made.schedule.root, num_places, kPlaceBytes,
                            family.keeps_order) == "");
    }
    const Prediction predicted = *Predict(*plan);
    RC_ASSERT(predicted.makespan_s >= BusiestPort(*plan) - 1e-9);
    // Half duplex with overlap is the one model that a plan's timetable cannot keep.
    if (family.ports.full_duplex || !family.ports.overlaps_compute) {
      RC_ASSERT(PortFault(*plan, predicted, family.ports) == std::string());
    }
  });
  EXPECT_TRUE(ok);
}

INSTANTIATE_TEST_SUITE_P(Every, FamilyPlansProperty, testing::ValuesIn(AllFamilies()),
                         [](const auto& family) { return CamelCase(family.param.name); });

}  // namespace
}  // namespace weir::planner::tree
