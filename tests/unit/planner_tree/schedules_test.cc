#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/bidirectional_greedy.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/reduce_scatter.h"
#include "planner/tree/segments/segment_sizes.h"
#include "planner/tree/segments/tree_shapes.h"
#include "planner/tree/segments/unidirectional_greedy.h"
#include "tests/unit/planner_tree/port_models.h"
#include "tests/unit/planner_tree/schedule_validator.h"

namespace weir::planner::tree {
namespace {

// Hand solution: p = 3, two unit segments, t_comm = 1, t_comp = 0 on half-duplex machines. Segment
// 1: 2 -> 1 at 0 while 0 waits, 1 -> 0 at 1. Segment 2: machine 2 is free at 1, machine 1 at 2,
// machine 0 at 2: the pair {2, 1} or {2, 0} starts at 2, the last at 3: makespan 4.
TEST(UnidirectionalGreedy, ThreeMachinesTwoSegments) {
  EXPECT_EQ(*UnidirectionalGreedyLength(3, {1, 1}, {0, 1, 0}), 4);
  const Schedule schedule = *UnidirectionalGreedySchedule(3, {1, 1}, {0, 1, 0});
  EXPECT_EQ(schedule.makespan_s, 4);
  EXPECT_EQ(ScheduleFault(schedule, kUnidirectional), "");
}

TEST(UnidirectionalGreedy, OneSegmentIsTheBinomialTree) {
  for (std::int64_t p : {1, 2, 3, 5, 8, 100}) {
    const double steps = static_cast<double>(CeilLog2(p));
    EXPECT_NEAR(*UnidirectionalGreedyLength(p, {7}, {2, 1, 0.5}), steps * (2 + 7 + 3.5), 1e-9);
  }
}

// The figure of 002: 15 processors, 5 segments, t_comm = 2, t_comp = 1.
TEST(UnidirectionalGreedy, FigureOfFifteenProcessors) {
  const Schedule schedule = *UnidirectionalGreedySchedule(15, std::vector<double>(5, 1), {0, 2, 1});
  EXPECT_EQ(schedule.makespan_s,
            *UnidirectionalGreedyLength(15, std::vector<double>(5, 1), {0, 2, 1}));
  EXPECT_EQ(ScheduleFault(schedule, kUnidirectional), "");
}

TEST(UnidirectionalGreedy, AThousandMillionMachines) {
  EXPECT_GT(*UnidirectionalGreedyLength(1'000'000'000, std::vector<double>(1000, 1), {10, 1, 1}),
            0);
}

// The figure of 002: 16 processors, 5 segments, t_comm = 2, t_comp = 1: (4 + 5 - 1) * 3 = 24.
TEST(BidirectionalGreedy, FigureOfSixteenProcessors) {
  const Schedule greedy = *BidirectionalGreedySchedule(16, std::vector<double>(5, 1), {0, 2, 1});
  EXPECT_EQ(greedy.makespan_s, 24);
  EXPECT_EQ(ScheduleFault(greedy, kBidirectional), "");
}

TEST(Circulant, RoundsAndLengthAreOptimal) {
  for (std::int32_t p = 1; p <= 70; ++p) {
    for (std::int32_t q : {1, 2, 3, 5, 8, 13}) {
      const auto rounds = CirculantRounds(p, q);
      const std::int64_t least = p == 1 ? 0 : CeilLog2(p) + q - 1;
      ASSERT_EQ(static_cast<std::int64_t>(rounds.size()), least);
      for (const auto& round : rounds) {
        std::set<MachineIndex> senders;
        std::set<MachineIndex> receivers;
        for (const RoundMessage& m : round) {
          ASSERT_TRUE(senders.insert(m.sender).second);
          ASSERT_TRUE(receivers.insert(m.receiver).second);
        }
      }
      const Schedule schedule = *CirculantSchedule(
          p, std::vector<double>(static_cast<std::size_t>(q), 1), {0, 2, 1}, kBidirectional);
      ASSERT_EQ(schedule.makespan_s, static_cast<double>(least) * 3) << p << " " << q;
      ASSERT_EQ(ScheduleFault(schedule, kBidirectional), "") << p << " " << q;
    }
  }
}

// Hand solution: two machines, three segments, d = c = 1: transfers 0-3, combines 1-4.
TEST(Interleaved, TwoMachinesOverlap) {
  const Schedule schedule = *InterleavedSchedule(2, {1, 1, 1}, {0, 1, 1}, kOverlap);
  EXPECT_EQ(schedule.makespan_s, 4);
  EXPECT_EQ(*OverlapLowerBound(2, 3, {1, 1}), 4);
}

// Hand solution: p = 4, 4 units, alpha = 0, beta = gamma = 1, no overlap: exchange 2 (+2), exchange
// 1 (+1), gather 1, 2.
TEST(Rabenseifner, FourMachinesByHand) {
  const Schedule schedule = *RabenseifnerSchedule(4, 4, {0, 1, 1}, kBidirectional);
  EXPECT_EQ(schedule.makespan_s, 2 + 2 + 1 + 1 + 1 + 2);
  EXPECT_EQ(ScheduleFault(schedule, kBidirectional), "");
}

// Hand solution: p = 3, 3 units, alpha = 0, beta = gamma = 1, no overlap: two rounds of one unit
// (+1), two of gather.
TEST(ReduceScatter, ThreeMachinesByHand) {
  const Schedule schedule = *ReduceScatterSchedule(3, 3, {0, 1, 1}, kBidirectional);
  EXPECT_EQ(schedule.makespan_s, 2 + 2 + 1 + 1);
  EXPECT_EQ(ScheduleFault(schedule, kBidirectional), "");
}

TEST(Shapes, AllAreTreesOfTheirSize) {
  for (std::int32_t p = 1; p <= 40; ++p) {
    const auto [first, second] = TwoTreeShapes(p);
    const auto [ordered_first, ordered_second] = OrderedTwoTreeShapes(p);
    for (const Receivers& shape :
         {BinomialShape(p), PipelineShape(p), BinaryShape(p), StarShape(p), InOrderBinaryShape(p),
          first, second, ordered_first, ordered_second}) {
      const auto schedule = ListSchedule("shape", {shape}, {1, 1}, {1, 1, 1}, kOverlap);
      ASSERT_TRUE(schedule.ok()) << p << " " << schedule.status();
      ASSERT_EQ(ScheduleFault(*schedule, kOverlap), "");
    }
    const Schedule centres =
        *ListSchedule("centres", RotatingCentreShapes(p), std::vector<double>(9, 1), {2, 1, 1},
                      {true, true, false});
    ASSERT_EQ(ScheduleFault(centres, {true, true, false}), "");
  }
}

// 002: pipeline on half-duplex machines without combining: (p - 1) + 2 (q - 1) steps.
TEST(Shapes, PipelineHasItsFormula) {
  const Schedule schedule = *ListSchedule("pipeline", {PipelineShape(6)}, std::vector<double>(5, 1),
                                          {0, 1, 0}, kUnidirectional);
  EXPECT_EQ(schedule.makespan_s, 5 + 2 * 4);
}

TEST(SegmentSizes, FormulaAndSearchAgree) {
  for (double units : {1.0, 10.0, 1000.0, 1e5}) {
    for (double alpha : {0.0, 1.0, 10.0}) {
      const LinkCosts costs{alpha, 1, 0.5};
      const SegmentChoice formula = BestUniformByFormula(4, 1, units, costs, 5000);
      const SegmentChoice search = BestUniformBySearch(
          [&](std::int64_t q) {
            const auto count = static_cast<double>(q);
            return (4 + count) * (alpha + 1.5 * units / count);
          },
          5000);
      EXPECT_NEAR(formula.length_s, search.length_s, 1e-9 * search.length_s);
    }
  }
}

TEST(SegmentSizes, NoOtherCountIsBetter) {
  std::mt19937_64 random(17);
  const auto draw = [&random](std::uint64_t n) { return static_cast<double>(random() % n); };
  for (int k = 0; k < 2000; ++k) {
    const double before = draw(12) - 1;
    const double per_segment = 1 + draw(4);
    const double units = 1 + draw(1000);
    const LinkCosts costs{draw(8), 1, draw(3) / 2};
    const auto q_max = static_cast<std::int64_t>(1 + draw(300));
    const double work = (costs.beta_s_per_unit + costs.gamma_s_per_unit) * units;
    const auto length_s = [&](std::int64_t q) {
      const auto count = static_cast<double>(q);
      return (before + per_segment * count) * (costs.alpha_s + work / count);
    };
    double least_s = std::numeric_limits<double>::infinity();
    for (std::int64_t q = 1; q <= q_max; ++q) least_s = std::min(least_s, length_s(q));
    const SegmentChoice formula = BestUniformByFormula(before, per_segment, units, costs, q_max);
    const SegmentChoice search = BestUniformBySearch(length_s, q_max);
    for (const SegmentChoice& choice : {formula, search}) {
      ASSERT_GE(choice.num_segments, 1) << k;
      ASSERT_LE(choice.num_segments, q_max) << k;
      ASSERT_NEAR(choice.length_s, least_s, 1e-9 * least_s) << k;
      ASSERT_NEAR(choice.length_s, length_s(choice.num_segments), 1e-9 * least_s) << k;
    }
  }
}

TEST(SegmentSizes, OfEqualLengthsTheSearchTakesTheFewerSegments) {
  // Its grid goes from 40 to 42.
  const SegmentChoice tied = BestUniformBySearch(
      [](std::int64_t q) { return std::abs(static_cast<double>(q) - 41.5); }, 100);
  EXPECT_EQ(tied.num_segments, 41);
  EXPECT_EQ(BestUniformBySearch([](std::int64_t) { return 1.0; }, 100).num_segments, 1);
}

TEST(TreeBounds, ByHand) {
  EXPECT_EQ(FloorLog2(1), 0);
  EXPECT_EQ(FloorLog2(7), 2);
  EXPECT_EQ(FloorLog2(8), 3);
  EXPECT_EQ(CeilLog2(1), 0);
  EXPECT_EQ(CeilLog2(8), 3);
  EXPECT_EQ(CeilLog2(9), 4);
  const ElementCosts slow_link{2, 1};
  EXPECT_EQ(LengthLowerBound(9, slow_link), 8);
  EXPECT_EQ(LengthUpperBound(9, slow_link), 12);
  // One transfer, two more that the port or the processor holds up, one combine.
  EXPECT_EQ(DegreeLowerBound(0, slow_link), 0);
  EXPECT_EQ(DegreeLowerBound(1, slow_link), 3);
  EXPECT_EQ(DegreeLowerBound(3, slow_link), 7);
  EXPECT_EQ(DegreeLowerBound(3, {1, 2}), 7);
  EXPECT_EQ(DepthLowerBound(3, slow_link), 9);
  // Two at a time: 1, 2, 4 machines after two steps, then two more in each.
  EXPECT_EQ(LimitedLengthUpperBound(8, 2, {1, 1}), 8);
  EXPECT_EQ(LimitedLengthUpperBound(9, 2, {1, 1}), 10);
}

}  // namespace
}  // namespace weir::planner::tree
