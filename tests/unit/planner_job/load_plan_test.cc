// Plans by divisible load: by hand, against the even split, and against the bound that holds for
// every plan.

#include "planner/job/builders/load_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "planner/job/builders/even_plan.h"
#include "planner/job/builders/job_chain.h"
#include "planner/job/builders/load_split.h"
#include "planner/job/builders/one_more_notes.h"
#include "planner/job/builders/plan_job.h"
#include "planner/job/job_bound.h"
#include "planner/job/job_drafts.h"
#include "planner/plan/check_plan.h"

namespace weir::planner {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

JobShape ShapeOf(double map_s, double reduce_s, double ratio) {
  JobShape shape;
  shape.job = "wordcount";
  shape.input_bytes = 1'000'000'000;
  shape.map_seconds_per_byte.value = map_s;
  shape.map_output_ratio.value = ratio;
  LayerShape layer;
  layer.reduce_seconds_per_byte.value = reduce_s;
  layer.output_ratio.value = 0.1;
  shape.layers = {layer};
  return shape;
}

ClusterProfile ClusterOf(std::int32_t num_workers, double seconds_per_byte, std::int32_t channels) {
  ClusterProfile cluster;
  cluster.workers.resize(static_cast<std::size_t>(num_workers));
  cluster.network = LimitedTotal(num_workers, seconds_per_byte, channels);
  return cluster;
}

TEST(EffectiveChannelsTest, CountsWhatRunsAtOnce) {
  EXPECT_EQ(EffectiveChannels(LimitedTotal(8, 1, 3)), 3);
  NetworkModel open;
  open.num_workers = 8;
  EXPECT_EQ(EffectiveChannels(open), 8);
  // Two racks of four with two channels up each: 16 of 56 pairs cross each cut, 8 rounds; the ports
  // need 7.
  NetworkModel racks = open;
  const std::vector<bool> left{true, true, true, true, false, false, false, false};
  const std::vector<bool> right{false, false, false, false, true, true, true, true};
  racks.cuts = {{"up", left, right, 2}, {"down", right, left, 2}};
  EXPECT_EQ(EffectiveChannels(racks), 7);
}

TEST(SolvingBudgetTest, GivesEachChainAPartOfWhatIsLeft) {
  SolvingBudget budget(/*time_s=*/1, /*num_chains=*/4);
  const double first = budget.ForNext();
  EXPECT_GT(first, 0);
  budget.Spend(0);  // a small chain leaves its part to the others
  EXPECT_DOUBLE_EQ(budget.ForNext(), first * 4 / 3);
  budget.Spend(100 * first);
  EXPECT_EQ(budget.ForNext(), 0);
  budget.Spend(0);
  budget.Spend(0);
  EXPECT_EQ(budget.ForNext(), 0);
}

TEST(LoadPlanTest, OneWorkerIsItsOwnBound) {
  const absl::StatusOr<Plan> plan = LoadPlan(ShapeOf(1e-8, 1e-8, 1), ClusterOf(1, 1e-8, 1));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_NEAR(plan->summary.makespan_s, 20, 1e-6);
  EXPECT_NEAR(plan->summary.lower_bound_s, 20, 1e-6);
}

TEST(LoadPlanTest, PartsAreNotSoonerOnDiskThanItWasMeasuredToWrite) {
  // 1 GB on two workers; a reducer computes 1 s and writes half of 100 MB, beside the other.
  JobShape shape = ShapeOf(1e-9, 2e-9, 1);
  const ClusterProfile cluster = ClusterOf(2, 1e-12, 2);
  const auto longest_reduce_s = [&] {
    const absl::StatusOr<Plan> plan = EvenPlan(shape, cluster);
    EXPECT_TRUE(plan.ok()) << plan.status();
    Seconds longest_s = 0;
    for (const ComputeStep& step : plan->steps) {
      if (step.kind == StepKind::kReduce) longest_s = std::max(longest_s, step.duration_s);
    }
    return longest_s;
  };
  shape.store.seconds_per_byte = {3e-8, Origin::kMeasured};
  EXPECT_NEAR(longest_reduce_s(), 1, 1e-6) << "the way to the output is part of the reduce rate";
  shape.store.disk_seconds_per_byte = 5e-9;
  EXPECT_NEAR(longest_reduce_s(), 1, 1e-6) << "half a second, meanwhile";
  shape.store.disk_seconds_per_byte = 3e-8;
  EXPECT_NEAR(longest_reduce_s(), 3, 1e-6) << "the disk writes 100 MB, whoever writes it";
  shape.layers[0].num_reducers = 1;
  EXPECT_NEAR(longest_reduce_s(), 3, 1e-6);
  shape.store.write = FinalWrite::kParallel;
  shape.layers[0].num_reducers = 2;
  EXPECT_NEAR(longest_reduce_s(), 1, 1e-6) << "write steps follow";
}

// Start-ups, a shuffle through two channels and reducers whose time grows: `times` the cost a byte.
JobShape StartedShape(double times) {
  JobShape shape = ShapeOf(times * 1e-8, times * 2e-8, 1);
  shape.map_startup_s.value = 0.25;
  shape.layers[0].startup_s.value = 0.5;
  shape.layers[0].reduce_growth = {times * 1e-9, 1e8, 1.5};
  return shape;
}

ClusterProfile OfRates(const std::vector<double>& rates) {
  ClusterProfile cluster = ClusterOf(static_cast<std::int32_t>(rates.size()), 4e-8, 2);
  for (std::size_t w = 0; w < rates.size(); ++w) cluster.workers[w].compute_rate = rates[w];
  return cluster;
}

// Eight slots do eight times as much at the same time: the plan of one slot at an eighth of the
// cost. Powers of two, so that nothing is rounded.
TEST(LoadPlanTest, EightSlotsAreOneAtAnEighthOfTheCost) {
  const JobShape one = StartedShape(1), eight = StartedShape(8);
  const ClusterProfile slot = OfRates(std::vector<double>(6, 1));
  const ClusterProfile slots = OfRates(std::vector<double>(6, 8));
  const std::vector<load::Chain> wanted = ChainsOf(one, slot), chains = ChainsOf(eight, slots);
  ASSERT_EQ(chains.size(), wanted.size());
  for (std::size_t i = 0; i < chains.size(); ++i) {
    EXPECT_EQ(chains[i].num_mappers, wanted[i].num_mappers);
    EXPECT_EQ(chains[i].map_seconds_per_byte, wanted[i].map_seconds_per_byte);
    EXPECT_EQ(chains[i].map_startup_s, 0.25);
    const load::ChainReducers &is = chains[i].reducers[0], &was = wanted[i].reducers[0];
    EXPECT_EQ(is.num_reducers, was.num_reducers);
    EXPECT_EQ(is.seconds_per_byte, was.seconds_per_byte);
    EXPECT_EQ(is.growth.seconds_per_byte, was.growth.seconds_per_byte);
    EXPECT_EQ(is.startup_s, 0.5);
  }
  const Plan plan = *LoadPlan(one, slot), same = *LoadPlan(eight, slots);
  EXPECT_EQ(same.summary.makespan_s, plan.summary.makespan_s);
  ASSERT_EQ(same.steps.size(), plan.steps.size());
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    EXPECT_EQ(same.steps[s].worker, plan.steps[s].worker);
    EXPECT_EQ(same.steps[s].input_bytes, plan.steps[s].input_bytes);
    EXPECT_EQ(same.steps[s].load_fraction, plan.steps[s].load_fraction);
  }
  EXPECT_EQ(OneMoreNotes(eight, slots, same), OneMoreNotes(one, slot, plan));
}

TEST(LoadPlanTest, AChainHasTheMeanRateOfTheFastestWorkersThatItUses) {
  JobShape shape = StartedShape(1);
  shape.num_mappers = 2;
  shape.layers[0].num_reducers = 6;  // more than workers
  const load::Chain chain = ChainOf(shape, OfRates({1, 4, 1, 2}));
  EXPECT_DOUBLE_EQ(chain.map_seconds_per_byte, 1e-8 / 3);
  EXPECT_DOUBLE_EQ(chain.reducers[0].seconds_per_byte, 2e-8 / 2);
  EXPECT_DOUBLE_EQ(chain.reducers[0].growth.seconds_per_byte, 1e-9 / 2);
  EXPECT_EQ(chain.map_startup_s, 0.25);
}

TEST(LoadPlanTest, OfFewStepsEachHasMoreOfTheDisk) {
  // Of 1 MB each step writes 0.1 MB at 1 MB/s, beside as many others as there are, one a worker.
  JobShape shape = ShapeOf(1e-9, 2e-9, 1);
  shape.store.disk_seconds_per_byte = 1e-6;
  const ClusterProfile cluster = ClusterOf(8, 1e-12, 8);
  for (const std::int32_t steps : {1, 2, 8, 16}) {
    std::vector<WorkerIndex> workers;
    for (std::int32_t k = 0; k < steps; ++k) workers.push_back(k % 8);
    const std::vector<double> fractions(workers.size(), 1.0 / steps);
    const LayerDraft draft = DraftReducers(shape, 0, 8, cluster, fractions, workers);
    EXPECT_NEAR(draft.reduce_seconds(0, 1'000'000), 0.1 * std::min(steps, 8), 1e-9) << steps;
  }
}

TEST(LoadPlanTest, SlowNetworkKeepsTheJobTogether) {
  // Moving a byte costs a thousand times more than mapping it: one worker does all.
  const absl::StatusOr<Plan> plan = LoadPlan(ShapeOf(1e-8, 1e-8, 1), ClusterOf(4, 1e-5, 1));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(CheckPlan(*plan).ok()) << CheckPlan(*plan);
  EXPECT_LT(plan->summary.makespan_s,
            EvenPlan(ShapeOf(1e-8, 1e-8, 1), ClusterOf(4, 1e-5, 1))->summary.makespan_s / 2);
}

std::vector<Bytes> ChunksOf(const Plan& plan) {
  std::vector<Bytes> chunks;
  for (const ComputeStep& step : plan.steps) {
    if (step.kind == StepKind::kMap) chunks.push_back(step.input_end - step.input_begin);
  }
  return chunks;
}

TEST(LoadPlanTest, OneFileThatCannotBeCutHasOneMapper) {
  JobShape shape = ShapeOf(1e-8, 1e-8, 0.1);
  shape.uncut = {{0, shape.input_bytes}};
  const ClusterProfile cluster = ClusterOf(4, 1e-9, 4);
  const absl::StatusOr<Plan> plan = PlanJob(shape, cluster, PlanningOptions{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(ChunksOf(*plan), std::vector<Bytes>{shape.input_bytes});
  // 10 s of map on one worker, then 0.25 s of reduce on each of four and a little network.
  EXPECT_GT(plan->summary.lower_bound_s, 10.24);
  EXPECT_NEAR(plan->summary.makespan_s, 10.3, 0.1);
  EXPECT_THAT(
      plan->summary.notes,
      AllOf(Contains("1 gzip file cannot be cut: 1 of 4 workers maps."),
            Contains(HasSubstr("faster workers or smaller files help, more workers do not")),
            Contains(HasSubstr("one more mapper would change nothing"))));
}

TEST(LoadPlanTest, LargestFileGoesToTheFastestWorker) {
  JobShape shape = ShapeOf(1e-8, 1e-10, 0.01);
  shape.uncut = {{0, 100'000'000}, {100'000'000, 700'000'000}, {700'000'000, 1'000'000'000}};
  ClusterProfile cluster = ClusterOf(3, 1e-10, 3);
  cluster.workers[2].compute_rate = 2;
  const absl::StatusOr<Plan> plan = LoadPlan(shape, cluster);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(CheckPlan(*plan).ok()) << CheckPlan(*plan);
  EXPECT_EQ(ChunksOf(*plan), (std::vector<Bytes>{100'000'000, 600'000'000, 300'000'000}));
  // 600 MB at twice the rate take as long as 300 MB.
  EXPECT_NEAR(plan->summary.makespan_s, 3, 0.01);
  EXPECT_GT(plan->summary.lower_bound_s, 2.99);
}

TEST(LoadPlanTest, FilesThatFitTheWorkersNeedNoWord) {
  JobShape shape = ShapeOf(1e-8, 1e-8, 0.1);
  for (Bytes begin = 0; begin < shape.input_bytes; begin += 100'000'000)
    shape.uncut.push_back({begin, begin + 100'000'000});
  const absl::StatusOr<Plan> plan = PlanJob(shape, ClusterOf(4, 1e-9, 4), PlanningOptions{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(ChunksOf(*plan).size(), 4u);
  EXPECT_THAT(plan->summary.notes, Not(Contains(HasSubstr("cannot be cut"))));
}

TEST(LoadPlanTest, LateMappersGetLess) {
  JobShape shape = ShapeOf(1e-7, 1e-9, 0.01);
  shape.map_startup_s.value = 5;
  const ClusterProfile cluster = ClusterOf(4, 1e-9, 4);
  const absl::StatusOr<Plan> plan = LoadPlan(shape, cluster);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GT(plan->steps[0].input_bytes, plan->steps[1].input_bytes);
  EXPECT_LT(plan->summary.makespan_s, 0.95 * EvenPlan(shape, cluster)->summary.makespan_s);
}

TEST(LoadPlanTest, FasterWorkersGetMore) {
  ClusterProfile cluster = ClusterOf(3, 1e-10, 3);
  cluster.workers[1].compute_rate = 4;
  const absl::StatusOr<Plan> plan = LoadPlan(ShapeOf(1e-7, 1e-8, 0.1), cluster);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->steps[0].worker, 1);
  EXPECT_GT(plan->steps[0].input_bytes, 3 * plan->steps[1].input_bytes);
  EXPECT_LT(plan->summary.makespan_s / plan->summary.lower_bound_s, 1.1);
}

// Eight or more workers on links of 100 Mbit/s whose rates are known; mapping is slow enough to
// need them all, and section_bytes go from each to each.
Plan PlanOfSections(double section_bytes, double sharing_fraction, double gap_s = 0,
                    double resent_fraction = 0, std::int32_t workers = 8) {
  JobShape shape;
  shape.input_bytes = static_cast<Bytes>(workers * workers * section_bytes);
  shape.map_seconds_per_byte.value = 1e-6;
  shape.map_output_ratio.value = 1;
  LayerShape layer;
  layer.reduce_seconds_per_byte.value = 1e-7;
  shape.layers = {layer};
  ClusterProfile cluster;
  cluster.workers.resize(static_cast<std::size_t>(workers));
  cluster.network.num_workers = workers;
  cluster.network.seconds_per_byte = 1 / 1.25e7;
  cluster.network.latency_s = 1e-3;
  cluster.network.pacing_fraction = 0.94;
  cluster.network.sharing_fraction = sharing_fraction;
  cluster.network.transfer_gap_s = gap_s;
  cluster.network.sharing_resent_fraction = resent_fraction;
  cluster.network_origin = Origin::kMeasured;
  return *PlanJob(shape, cluster, PlanningOptions{});
}

TEST(LoadPlanTest, SmallSectionsAreFetchedFromAllAtOnce) {
  const Plan small = PlanOfSections(1e4, 0.9);
  EXPECT_EQ(small.transfer_order, TransferOrder::kFetchAll);
  EXPECT_EQ(small.summary.method, "load");
  EXPECT_THAT(small.summary.notes, Contains(HasSubstr("fetch from all senders at once")));
  EXPECT_EQ(CheckPlan(small), absl::OkStatus());

  const Plan large = PlanOfSections(1e6, 0.9);
  EXPECT_EQ(large.transfer_order, TransferOrder::kOvertake);
}

// Moves take 0.56 s in 7 turns of a job of 9 s: gaps of 30 ms and pacing at 0.94 cost an order 0.25
// s.
TEST(LoadPlanTest, AMeasuredGapAndShareDecideBetweenOrderAndFetchAll) {
  EXPECT_EQ(PlanOfSections(1e6, 0.98).transfer_order, TransferOrder::kOvertake)
      << "nobody has measured a gap";
  const Plan deep = PlanOfSections(1e6, 0.98, /*gap_s=*/0.03);
  EXPECT_EQ(deep.transfer_order, TransferOrder::kFetchAll);
  const Plan shallow = PlanOfSections(1e6, 0.6, /*gap_s=*/0.03);
  EXPECT_NE(shallow.transfer_order, TransferOrder::kFetchAll);
  EXPECT_EQ(CheckPlan(deep), absl::OkStatus());
  EXPECT_EQ(CheckPlan(shallow), absl::OkStatus());
}

TEST(LoadPlanTest, NobodyFetchesFromAllWhereManySegmentsAreSentAgain) {
  const Plan few = PlanOfSections(1e6, 0.98, 0.03, /*resent_fraction=*/0.001);
  EXPECT_EQ(few.transfer_order, TransferOrder::kFetchAll);
  const Plan many = PlanOfSections(1e6, 0.98, 0.03, /*resent_fraction=*/0.04);
  EXPECT_NE(many.transfer_order, TransferOrder::kFetchAll);
  EXPECT_THAT(many.summary.notes, Contains(HasSubstr("4.0 % of all segments were sent again")));
}

// Queues that overflow when all send at once do so at paced rates, too.
TEST(LoadPlanTest, NothingMovesByRatesWhereManySegmentsAreSentAgain) {
  EXPECT_EQ(PlanOfSections(1e6, 0.3, /*gap_s=*/0.1).transfer_order, TransferOrder::kRates);
  const Plan many = PlanOfSections(1e6, 0.3, 0.1, /*resent_fraction=*/0.04);
  EXPECT_EQ(many.transfer_order, TransferOrder::kOvertake);
  EXPECT_THAT(many.summary.notes, Contains(HasSubstr("4.0 % of all segments were sent again")));
}

// Sixteen workers, 15 turns with a gap each in a job of 19 s: everything at once would gain 14 gaps
// of 50 ms, less than its reserve; four of a port at a time gain 11 in 4 windows, which is more
// than half of that reserve.
TEST(LoadPlanTest, PortsCarrySomeTransfersAtATimeWhereGapsAreKnown) {
  const auto sixteen = [](double gap_s, double resent_fraction = 0) {
    return PlanOfSections(1e6, 0.3, gap_s, resent_fraction, 16);
  };
  const Plan laned = sixteen(0.05);
  EXPECT_EQ(laned.transfer_order, TransferOrder::kRates);
  EXPECT_EQ(laned.port_lanes, 4);
  EXPECT_EQ(laned.summary.method, "load");
  EXPECT_THAT(laned.summary.notes, Contains(HasSubstr("Each port carries 4 transfers at a time")));
  EXPECT_EQ(CheckPlan(laned), absl::OkStatus());

  EXPECT_EQ(sixteen(0.01).transfer_order, TransferOrder::kOvertake) << "little is gained";
  EXPECT_EQ(sixteen(0).port_lanes, 0) << "nobody has measured a gap";
  const Plan all = sixteen(0.1);
  EXPECT_EQ(all.transfer_order, TransferOrder::kRates);
  EXPECT_EQ(all.port_lanes, 0) << "everything at once gains more than its reserve";
  const Plan many = sixteen(0.05, /*resent_fraction=*/0.04);
  EXPECT_EQ(many.transfer_order, TransferOrder::kOvertake);
  EXPECT_THAT(many.summary.notes, Contains(AllOf(HasSubstr("4 transfers at a time"),
                                                 HasSubstr("segments were sent again"))));
}

// Rates that never add up to more than a port need to know nothing of sharing.
TEST(LoadPlanTest, SmallSectionsMoveByRatesWhereSharingIsUnknown) {
  const Plan unknown = PlanOfSections(1e4, 0);
  EXPECT_EQ(unknown.transfer_order, TransferOrder::kRates);
  EXPECT_THAT(unknown.summary.notes, Contains(HasSubstr("at its share of ports and cuts")));
  EXPECT_EQ(CheckPlan(unknown), absl::OkStatus());

  const Plan large = PlanOfSections(1e6, 0);
  EXPECT_EQ(large.transfer_order, TransferOrder::kOvertake);
}

TEST(LoadPlanTest, NoPieceIsShorterThanAGrantIsWorth) {
  const Plan plan = PlanOfSections(3e5, 0);
  std::map<std::pair<StepIndex, StepIndex>, int> pieces;
  for (const Transfer& transfer : plan.transfers) {
    ++pieces[{transfer.producer, transfer.consumer}];
  }
  ASSERT_FALSE(pieces.empty());
  // 300 kB are 25 ms on the wire.
  for (const auto& [pair, count] : pieces) EXPECT_EQ(count, 1);
}

// Random jobs of 0.1 to 10 GB on 3 to 12 workers whose rates differ up to 16 times.
TEST(LoadPlanTest, UnequalWorkersStayNearTheBound) {
  constexpr int kJobs = 60;
  std::vector<double> over_bound;
  for (int i = 0; i < kJobs; ++i) {
    std::mt19937_64 engine(static_cast<std::uint64_t>(i));
    const auto draw = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(engine);
    };
    JobShape shape;
    shape.input_bytes = static_cast<Bytes>(std::pow(10, draw(8, 10)));
    shape.map_seconds_per_byte.value = std::pow(10, draw(-8.5, -6.5));
    shape.map_output_ratio.value = draw(0.05, 1);
    LayerShape layer;
    layer.reduce_seconds_per_byte.value = shape.map_seconds_per_byte.value * draw(0.1, 2);
    layer.output_ratio.value = 0.2;
    shape.layers = {layer};
    ClusterProfile cluster;
    cluster.workers.resize(static_cast<std::size_t>(draw(3, 13)));
    for (WorkerProfile& worker : cluster.workers) worker.compute_rate = std::pow(2, draw(-2, 2));
    cluster.network.num_workers = static_cast<std::int32_t>(cluster.workers.size());
    cluster.network.seconds_per_byte = 1 / 1.25e8;
    cluster.network.latency_s = 1e-3;
    const Plan plan = *PlanJob(shape, cluster, PlanningOptions{});
    over_bound.push_back(plan.summary.makespan_s / JobLowerBound(shape, cluster));
  }
  std::sort(over_bound.begin(), over_bound.end());
  const double median = over_bound[kJobs / 2];
  const double most = over_bound[kJobs * 19 / 20];
  std::cout << "makespan over bound: median " << median << ", 95 % up to " << most << ", worst "
            << over_bound.back() << "\n";
  EXPECT_LT(median, 1.25);
  EXPECT_LT(most, 2.3);
}

TEST(LoadPlanTest, NotesSayWhatOneMoreWouldGive) {
  const absl::StatusOr<Plan> plan =
      PlanJob(ShapeOf(1e-8, 1e-8, 1), ClusterOf(4, 1e-8, 1), PlanningOptions{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->summary.method, "load");
  EXPECT_THAT(plan->summary.notes,
              Contains(HasSubstr("No split of the load and no transfer order")));
  EXPECT_THAT(plan->summary.notes,
              Contains(AllOf(HasSubstr("one more mapper"), HasSubstr("one more reducer"),
                             HasSubstr("one more channel"))));
}

TEST(LoadPlanTest, EmptyInputStillHasAPlan) {
  JobShape shape = ShapeOf(1e-8, 1e-8, 1);
  shape.input_bytes = 0;
  const absl::StatusOr<Plan> plan = LoadPlan(shape, ClusterOf(3, 1e-8, 1));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(CheckPlan(*plan).ok()) << CheckPlan(*plan);
}

}  // namespace
}  // namespace weir::planner
