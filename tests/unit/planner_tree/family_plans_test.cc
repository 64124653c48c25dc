// Every family of trees as a plan, one test each: feasible, predicted as scheduled, every operand
// in the result once and in its order, every step in the picture.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <regex>
#include <string>

#include "planner/explain/explain.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/schedule_forms.h"
#include "planner/tree/tree_plan.h"
#include "tests/unit/planner_tree/plan_execution.h"
#include "tests/unit/planner_tree/plan_families.h"

namespace weir::planner::tree {
namespace {

constexpr Bytes kPlaceBytes = 8;

using Matrix = std::array<std::uint64_t, 4>;  // 2 x 2, by rows

Matrix Product(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

Matrix MatrixOf(MachineIndex machine) {
  const auto i = static_cast<std::uint64_t>(machine);
  return {1 + i, 2 + i * i, 3, 1 + 2 * i};
}

std::string LetterOf(MachineIndex machine) {
  return std::string(1, static_cast<char>('!' + machine));
}

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

// Strings show what is lost, doubled or out of order; matrices show the same of a real operation.
void ExpectResult(const Plan& plan, const FamilySchedule& made, bool keeps_order) {
  const WorkerIndex root = made.schedule.root;
  const auto text = ExecutePlan<std::string>(
      plan, made.num_places, kPlaceBytes,
      [](const ComputeStep& step) { return LetterOf(step.worker); },
      [](const std::string& a, const std::string& b) { return a + b; });
  ASSERT_TRUE(text.ok()) << text.status();
  const auto texts = ReductionResult(plan, root, *text);
  ASSERT_TRUE(texts.ok()) << texts.status();
  std::string expected;
  Matrix product = MatrixOf(0);
  for (MachineIndex i = 0; i < made.schedule.num_machines; ++i) {
    expected += LetterOf(i);
    if (i > 0) product = Product(product, MatrixOf(i));
  }
  for (std::string result : *texts) {
    if (!keeps_order) std::sort(result.begin(), result.end());
    ASSERT_EQ(result, expected);
  }
  if (!keeps_order) return;
  const auto matrix = ExecutePlan<Matrix>(
      plan, made.num_places, kPlaceBytes,
      [](const ComputeStep& step) { return MatrixOf(step.worker); }, Product);
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  const auto products = ReductionResult(plan, root, *matrix);
  ASSERT_TRUE(products.ok()) << products.status();
  for (const Matrix& result : *products) ASSERT_EQ(result, product);
}

// Every port serves the schedule's messages in the schedule's order.
void ExpectScheduleOrder(const Plan& plan, const Schedule& schedule) {
  for (MachineIndex i = 0; i < schedule.num_machines; ++i) {
    std::vector<MachineIndex> sends_to;
    std::vector<MachineIndex> receives_from;
    for (const Message& message : schedule.messages) {
      if (message.sender == i) sends_to.push_back(message.receiver);
      if (message.receiver == i) receives_from.push_back(message.sender);
    }
    std::vector<MachineIndex> sent;
    for (TransferIndex t : plan.send_order[i]) sent.push_back(plan.transfers[t].receiver);
    std::vector<MachineIndex> received;
    for (TransferIndex t : plan.receive_order[i]) received.push_back(plan.transfers[t].sender);
    // A message that became two transfers stands there twice.
    const auto without_repeats = [](std::vector<MachineIndex> list) {
      list.erase(std::unique(list.begin(), list.end()), list.end());
      return list;
    };
    ASSERT_EQ(without_repeats(sent), without_repeats(sends_to)) << "machine " << i;
    ASSERT_EQ(without_repeats(received), without_repeats(receives_from)) << "machine " << i;
  }
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
    ASSERT_NO_FATAL_FAILURE(ExpectScheduleOrder(*plan, made.schedule));
    ASSERT_NO_FATAL_FAILURE(ExpectResult(*plan, made, family.keeps_order));
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

std::string NameOf(const testing::TestParamInfo<Family>& family) {
  std::string name;
  bool upper = true;
  for (const char c : family.param.name) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    }
    upper = std::isalpha(static_cast<unsigned char>(c)) == 0;
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Every, FamilyPlans, testing::ValuesIn(AllFamilies()), NameOf);

}  // namespace
}  // namespace weir::planner::tree
