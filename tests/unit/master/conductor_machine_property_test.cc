// Random plans through the conductor: whatever reality does, limits hold and everything moves once;
// when reality is the model, the run takes what Predict says.

#include <algorithm>
#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "planner/job/builders/plan_job.h"
#include "planner/order/lanes/order_by_lanes.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/predict/rate_allocation.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "tests/unit/master/conductor_driver.h"
#include "tests/unit/master/random_plan.h"
#include "tests/unit/master/tree_plans.h"

namespace weir::master {
namespace {

using planner::TransferOrder;

/// A seed has no size: small ones are no simpler than large ones.
std::uint64_t AnySeed() {
  return *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
}

TransferOrder AnyOrder() {
  return *rc::gen::element(TransferOrder::kStrict, TransferOrder::kOvertake,
                           TransferOrder::kFetchAll, TransferOrder::kRates);
}

/// Every step and transfer takes between `fastest` and `slowest` times what the model says.
DrivenReality RandomReality(std::uint64_t seed, double fastest, double slowest) {
  auto factor = [seed, fastest, slowest](std::int64_t item) {
    std::mt19937_64 engine(seed * 1'000'003 + static_cast<std::uint64_t>(item));
    return std::uniform_real_distribution<double>(fastest, slowest)(engine);
  };
  DrivenReality reality = ExactReality();
  reality.step_seconds = [factor](planner::StepIndex step, double model_s) {
    return model_s * factor(step);
  };
  reality.transfer_seconds = [factor](planner::TransferIndex transfer, double model_s) {
    return model_s * factor(100'000 + transfer);
  };
  reality.rate_delay_s = [seed, told = 0]() mutable {
    std::mt19937_64 engine(seed + static_cast<std::uint64_t>(++told));
    return std::uniform_real_distribution<double>(0, 0.05)(engine);
  };
  return reality;
}

/// Sections from nothing to half as much again as planned; a third of them empty.
std::function<planner::Bytes(planner::Bytes)> RandomSizes(std::uint64_t seed) {
  return [seed](planner::Bytes planned) {
    return static_cast<planner::Bytes>((static_cast<std::uint64_t>(planned) * 7 + seed % 13) % 3) *
           planned / 2;
  };
}

/// Where rates change over time: of runs that come at one moment the conductor hears one by one. A
/// short transfer of the first keeps what it got alone, until it ends; Predict, which knows of all,
/// gives it its share. And the conductor keeps shares for those to come, which Predict does not. So
/// each layer may be off by these, and by what is not worth a change.
double NotForeseen(const planner::Plan& plan) {
  if (!plan.rates_over_time) return 0;
  std::int32_t layers = 0;
  for (const planner::ComputeStep& step : plan.steps) layers = std::max(layers, step.layer);
  return layers * (planner::kRateKeptS + 2 * planner::kRunExpectedS) +
         planner::kRateGainMin * plan.summary.makespan_s;
}

RC_GTEST_PROP(ConductorProperty, ExactTimesGiveThePrediction, ()) {
  const auto seed = AnySeed();
  const TransferOrder order =
      *rc::gen::element(TransferOrder::kStrict, TransferOrder::kOvertake, TransferOrder::kRates);
  const planner::Plan plan = RandomPlan(seed, order);
  const double makespan_s = DriveConductor(plan, ExactReality());
  const double predicted_s = planner::Predict(plan)->makespan_s;
  RC_LOG() << "seed " << seed << " order " << static_cast<int>(order) << " makespan " << makespan_s
           << " predicted " << predicted_s << "\n";
  RC_ASSERT(std::abs(makespan_s - predicted_s) <= 1e-6 + 1e-6 * predicted_s + NotForeseen(plan));
}

/// Eight mappers that are done at the same time, for eight reducers of unequal shares, three
/// transfers of a port at a time.
planner::Plan LanedShuffle(std::mt19937_64& engine) {
  const auto draw = [&engine](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(engine);
  };
  planner::NetworkModel network;
  network.num_workers = 8;
  network.seconds_per_byte = 1e-7;
  network.latency_s = 1e-3;
  planner::PlanAssembly assembly(network);
  std::vector<planner::MapperDraft> mappers;
  std::vector<planner::PieceDraft> pieces;
  planner::LayerDraft layer;
  double left = 1;
  for (std::int32_t w = 0; w < 8; ++w) {
    mappers.push_back({w, 1000, static_cast<planner::Bytes>(draw(5e6, 2e7)), 0, 1});
    const double share = w < 7 ? left / (8 - w) * draw(0.5, 1.5) : left;
    layer.reducers.push_back({w, share});
    left -= share;
    for (std::int32_t j = 0; j < 8; ++j) pieces.push_back({j, (j + w) % 8});
  }
  layer.reduce_seconds = [](planner::WorkerIndex, planner::Bytes) { return 0.01; };
  EXPECT_TRUE(assembly.AddMappers(mappers).ok());
  EXPECT_TRUE(assembly.AddReducers(layer, pieces).ok());
  planner::Plan plan = assembly.TakePlan();
  EXPECT_TRUE(planner::OrderByPriority(&plan).ok());
  const absl::StatusOr<std::int32_t> windows = planner::OrderByLanes(3, &plan);
  EXPECT_GT(windows.value_or(0), 1);
  return plan;
}

// Whoever is early must not take with a later window what one that is a little late begins with: a
// shuffle is late by what its last mapper is.
TEST(ConductorLanes, MappersALittleLateDoNotMixTheWindows) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 engine(seed);
    const planner::Plan plan = LanedShuffle(engine);
    DrivenReality reality = ExactReality();
    std::vector<double> late_s(plan.steps.size());
    for (double& s : late_s) s = std::uniform_real_distribution<double>(0, 0.1)(engine);
    reality.step_seconds = [&](planner::StepIndex step, double model_s) {
      const bool maps = plan.steps[planner::At(step)].layer == 0;
      return model_s + (maps ? late_s[planner::At(step)] : 0);
    };
    const double makespan_s = DriveConductor(plan, reality);
    const double predicted_s = plan.summary.makespan_s;
    EXPECT_LE(makespan_s, predicted_s + 0.1 + 1e-6) << "seed " << seed;
  }
}

// A mapper that takes five times as long keeps its places until they should be free; then others
// go on.
TEST(ConductorLanes, AMapperThatIsVeryLateHoldsUpOthersForItsOwnTimeAtMost) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 engine(seed);
    const planner::Plan plan = LanedShuffle(engine);
    DrivenReality reality = ExactReality();
    reality.step_seconds = [&](planner::StepIndex step, double model_s) {
      return step == 0 ? 50 : model_s;
    };
    const double makespan_s = DriveConductor(plan, reality);
    double sent_s = 0;  // by the late one alone, nothing else being under way
    for (const planner::Transfer& t : plan.transfers) {
      if (t.producer == 0) sent_s += t.duration_s;
    }
    EXPECT_LE(makespan_s, 50 + sent_s + 0.1) << "seed " << seed;
  }
}

RC_GTEST_PROP(ConductorProperty, LimitsHoldWhateverRealityDoes, ()) {
  const auto seed = AnySeed();
  const planner::Plan plan = RandomPlan(seed, AnyOrder());
  DrivenReality reality = RandomReality(seed, 0.1, 5);
  // Sections may be empty, smaller or larger than planned.
  reality.section_bytes = RandomSizes(seed);
  RC_ASSERT(DriveConductor(plan, reality) >= 0);
}

RC_GTEST_PROP(ConductorProperty, TransfersThatFailAreMovedAgainWithinTheLimits, ()) {
  const auto seed = AnySeed();
  const bool tree = seed % 3 == 0;
  const planner::Plan plan = tree ? RandomTreePlan(seed) : RandomPlan(seed, AnyOrder());
  DrivenReality reality = RandomReality(seed, 0.1, 5);
  reality.section_bytes = RandomSizes(seed);
  reality.failures = [seed](planner::TransferIndex transfer) {
    std::mt19937_64 engine(seed + 77 * static_cast<std::uint64_t>(transfer));
    return std::max(0, std::uniform_int_distribution<int>(-3, 3)(engine));
  };
  RC_ASSERT(DriveConductor(plan, reality) >= 0);
}

RC_GTEST_PROP(ConductorProperty, NothingSlowerThanPlannedIsNeverLaterThanPlanned, ()) {
  const auto seed = AnySeed();
  const planner::Plan plan = RandomPlan(seed, TransferOrder::kStrict);
  const double makespan_s = DriveConductor(plan, RandomReality(seed, 0.3, 1));
  RC_ASSERT(makespan_s >= 0);
  RC_ASSERT(makespan_s <= planner::Predict(plan)->makespan_s * (1 + 1e-6) + 1e-6);
}

RC_GTEST_PROP(ConductorTreeProperty, PortsAndOperandsKeepTheirOrderWhateverRealityDoes, ()) {
  const auto seed = AnySeed();
  const planner::Plan plan = RandomTreePlan(seed);
  DrivenReality reality = RandomReality(seed, 0.1, 5);
  if (seed % 4 > 0) reality.section_bytes = RandomSizes(seed);
  for (int w = 0; seed % 3 == 0 && w < plan.network.num_workers; ++w) {
    reality.handover_domains.push_back(w % 2 == 0 ? "host a" : "");
  }
  RC_ASSERT(DriveConductor(plan, reality) >= 0);
}

RC_GTEST_PROP(ConductorTreeProperty, ExactTimesGiveThePrediction, ()) {
  const auto seed = AnySeed();
  const planner::Plan plan = RandomTreePlan(seed);
  const planner::Prediction predicted = *planner::Predict(plan);
  const double makespan_s = DriveConductor(plan, ExactReality());
  RC_LOG() << "seed " << seed << " makespan " << makespan_s << " predicted " << predicted.makespan_s
           << "\n";
  RC_ASSERT(std::abs(makespan_s - predicted.makespan_s) <= 1e-6 * (1 + predicted.makespan_s));
}

/// Eight workers exchange 1 MB a pair at 100 Mbit/s, all maps done at once: the plan is a rotation.
planner::Plan AllToAll() {
  constexpr std::int32_t kWorkers = 8;
  planner::JobShape shape;
  shape.input_bytes = kWorkers * kWorkers * 1'000'000;
  shape.map_seconds_per_byte.value = 1e-8;
  shape.map_output_ratio.value = 1;
  planner::LayerShape layer;
  layer.reduce_seconds_per_byte.value = 1e-9;
  shape.layers = {layer};
  planner::ClusterProfile cluster;
  cluster.workers.resize(kWorkers);
  cluster.network.num_workers = kWorkers;
  cluster.network.seconds_per_byte = 1 / 1.25e7;
  cluster.network.latency_s = 1e-3;
  return *planner::PlanJob(shape, cluster, {planner::PlanMethod::kEven});
}

RC_GTEST_PROP(ConductorProperty, RatesThatAreALittleOffDoNotBreakTheRotation, ()) {
  const planner::Plan plan = AllToAll();
  const double makespan_s = DriveConductor(plan, RandomReality(AnySeed(), 0.95, 1.05));
  // Overtaking whatever is a little late took up to 1.3 times as long.
  RC_ASSERT(makespan_s >= 0);
  RC_ASSERT(makespan_s <= 1.08 * plan.summary.makespan_s);
}

RC_GTEST_PROP(ConductorProperty, HandoverKeepsTheRulesAndTakesNoTransferTime, ()) {
  const auto seed = AnySeed();
  const planner::Plan plan = RandomPlan(seed, AnyOrder());
  DrivenReality reality = ExactReality();
  for (int w = 0; w < plan.network.num_workers; ++w) {
    reality.handover_domains.push_back(w % 3 == 0 ? "" : w % 2 == 0 ? "host a" : "host b");
  }
  RC_ASSERT(DriveConductor(plan, reality) >= 0);
}

}  // namespace
}  // namespace weir::master
