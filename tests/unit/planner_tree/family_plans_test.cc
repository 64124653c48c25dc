// Every family of trees as a plan, one test each: feasible, predicted as scheduled, every operand
// in the result once and in its order, every step in the picture.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/explain/explain.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/write/tree_plan.h"
#include "tests/unit/planner_tree/plan_families.h"
#include "tests/unit/planner_tree/plan_faults.h"

namespace weir::planner::tree {
namespace {

constexpr Bytes kPlaceBytes = 8;

NetworkModel NetworkFor(const FamilyInput& in, const FamilySchedule& made) {
  NetworkModel network = NetworkOf(in.costs, in.num_machines, static_cast<double>(made.num_places),
                                   made.num_places * kPlaceBytes);
  network.port_slowdown = made.port_slowdown;
  if (made.channels > 0) {
    network.cuts = LimitedTotal(in.num_machines, 0, made.channels).cuts;
  }
  return network;
}

absl::StatusOr<Plan> PlanFor(const Family& family, const FamilyInput& in,
                             const FamilySchedule& made) {
  ReductionOptions options;
  options.ports = family.ports;
  options.place_bytes = kPlaceBytes;
  return ReductionPlan(made.schedule, NetworkFor(in, made), made.num_places * kPlaceBytes,
                       made.ready_s, options);
}

// Steps in the picture, by tooltips: one each, or "N steps" where bars were merged.
std::size_t StepsDrawn(const std::string& svg) {
  static const std::regex kTooltip(
      R"(<rect class="[^"]*"[^>]*><title>(?:(\d+) steps, |[a-z]+ \d+ on ))");
  std::size_t drawn = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), kTooltip), end; at != end; ++at) {
    drawn += (*at)[1].matched ? std::stoul((*at)[1].str()) : 1;
  }
  return drawn;
}

std::vector<FamilyInput> Inputs() {
  std::vector<FamilyInput> inputs;
  for (const std::int32_t p : {1, 2, 3, 5, 8, 13}) {
    for (const LinkCosts& costs : {LinkCosts{1, 2, 1}, LinkCosts{0, 1, 3}, LinkCosts{3, 1, 0}}) {
      FamilyInput in{p, 1 + p % 4, costs, (p + 1) / 2, {}, {}};
      for (std::int32_t i = 0; i < p; ++i) {
        in.ready_s.push_back(3 * (i % 4));
        in.slowdown.push_back(1 + i * 5 % 3);
      }
      inputs.push_back(in);
    }
  }
  return inputs;
}

class FamilyPlans : public ::testing::TestWithParam<Family> {};

TEST_P(FamilyPlans, AreFeasibleCompleteAndPredictedAsScheduled) {
  const Family& family = GetParam();
  for (const FamilyInput& in : Inputs()) {
    FamilySchedule made = family.build(in);
    SCOPED_TRACE(testing::Message()
                 << family.name << ", p = " << in.num_machines << ", alpha = " << in.costs.alpha_s
                 << ", gamma = " << in.costs.gamma_s_per_unit);
    const auto plan = PlanFor(family, in, made);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_EQ(CheckPlan(*plan), absl::OkStatus());
    ASSERT_EQ(plan->transfer_order, TransferOrder::kStrict);
    ASSERT_EQ(OrderFault(*plan, made.schedule), "");
    ASSERT_EQ(
        ResultFault(*plan, made.schedule.root, made.num_places, kPlaceBytes, family.keeps_order),
        "");
    const Prediction predicted = *Predict(*plan);
    const double makespan_s = made.schedule.makespan_s;
    EXPECT_GE(predicted.makespan_s, makespan_s - made.shorter_s - 1e-9);
    EXPECT_LE(predicted.makespan_s, makespan_s + made.longer_s + 1e-9);
    // Half duplex with overlap is the one model that a plan's timetable cannot keep.
    if (family.ports.full_duplex || !family.ports.overlaps_compute) {
      EXPECT_EQ(PortFault(*plan, predicted, family.ports), "");
    }
  }
}

TEST_P(FamilyPlans, ShowEveryStep) {
  const Family& family = GetParam();
  for (const FamilyInput& in : Inputs()) {
    if (in.num_machines > 5) continue;
    const auto plan = PlanFor(family, in, family.build(in));
    ASSERT_TRUE(plan.ok()) << plan.status();
    const std::string svg = GanttSvg(*plan, *Predict(*plan), nullptr, {});
    EXPECT_EQ(StepsDrawn(svg), plan->steps.size()) << family.name;
  }
}

// A run that keeps to the plan, as `weir explain --json` reports it.
std::string ReportOfRun(const Plan& plan) {
  const Prediction predicted = *Predict(plan);
  ActualRun run;
  run.steps = predicted.steps;
  run.transfers = predicted.transfers;
  run.makespan_s = predicted.makespan_s;
  std::string sections;
  for (const Transfer& transfer : plan.transfers) {
    run.transfer_bytes.push_back(transfer.bytes);
    absl::StrAppend(&sections, sections.empty() ? "" : ",", "[", transfer.producer, ",",
                    transfer.consumer, ",", transfer.bytes, "]");
  }
  std::string all;
  for (WorkerIndex i = 0; i < plan.network.num_workers; ++i) {
    absl::StrAppend(&all, i == 0 ? "" : ",", i);
  }
  std::string cuts;
  for (const Cut& cut : plan.network.cuts) {
    absl::StrAppend(&cuts, "[\"", cut.name, "\",", cut.channels, ",[", all, "],[", all, "]]");
  }
  return absl::StrCat("{\"report\":", ExplainJson(plan, predicted, &run, {}), ",\"sections\":[",
                      sections, "],\"cuts\":[", cuts, "],\"slowdown\":[",
                      absl::StrJoin(plan.network.port_slowdown, ","), "]}");
}

TEST_P(FamilyPlans, PassTheTraceChecker) {
  const Family& family = GetParam();
  const std::string path =
      absl::StrCat(testing::TempDir(), "/weir-", CamelCase(family.name), "-runs.json");
  std::string runs;
  for (const FamilyInput& in : Inputs()) {
    if (in.num_machines > 8) continue;
    const auto plan = PlanFor(family, in, family.build(in));
    ASSERT_TRUE(plan.ok()) << plan.status();
    absl::StrAppend(&runs, runs.empty() ? "" : ",", ReportOfRun(*plan));
  }
  std::ofstream(path) << "{\"runs\":[" << runs << "]}";
  const std::string command = absl::StrCat(
      "python3 " WEIR_SOURCE_DIR "/tests/unit/planner_tree/check_traces.py '", path, "'");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::remove(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(Every, FamilyPlans, testing::ValuesIn(AllFamilies()),
                         [](const auto& family) { return CamelCase(family.param.name); });

}  // namespace
}  // namespace weir::planner::tree
