// Hand-solved examples of 003.

#include <gtest/gtest.h>

#include "planner/tree/speeds/broadcast.h"
#include "planner/tree/speeds/class_dp.h"
#include "planner/tree/speeds/earliest_possible.h"
#include "planner/tree/speeds/pair_costs.h"
#include "planner/tree/speeds/sequence_search.h"
#include "planner/tree/speeds/slot_search.h"

namespace weir::planner::tree {
namespace {

// Fig. 3: P = 10, 5, 5, 5, 4, 2 with a destination: three start at 0; the tokens return at 5, 5,
// 10: ...
TEST(EarliestPossible, ScheduleOfFigureThree) {
  const SenderSchedule schedule = *EarliestPossible({10, 5, 5, 5, 4, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(schedule.start_s, (std::vector<Seconds>{0, 0, 0, 5, 10, 14}));
  EXPECT_EQ(schedule.makespan_s, 16);
  EXPECT_EQ(schedule.receiver.back(), kNoMachine);
}

// Fig. 8: four slow of x = 1.75 and eight fast of 1; the destination is one of the slow, which the
// text leaves out.
TEST(SlowestNodeFirst, CounterexampleOfFigureEight) {
  const double x = 1.75;
  std::vector<Seconds> times(8, 1);
  times.insert(times.end(), 3, x);
  EXPECT_DOUBLE_EQ(SlowestNodeFirst(times)->makespan_s, x + 3);
  EXPECT_DOUBLE_EQ(ClassOptimumByDp({1, x}, {8, 3})->optimum_s, 2 * x + 1);
  EXPECT_DOUBLE_EQ(SearchSlots(times)->makespan_s, 2 * x + 1);
}

TEST(ClassDp, OrderReachesTheOptimum) {
  const ClassOptimum optimum = *ClassOptimumByDp({2, 3, 4}, {6, 4, 6});
  EXPECT_EQ(optimum.ordered_times.size(), 16U);
  EXPECT_DOUBLE_EQ(EarliestPossibleLength(optimum.ordered_times), optimum.optimum_s);
}

TEST(SearchSlots, NoSenderTakesNoTime) {
  EXPECT_EQ(SearchSlots({})->makespan_s, 0);
  EXPECT_EQ(SearchSlots({7})->makespan_s, 7);
}

// Hand solution: source 1, others 2, 3, 4: informed at 1 (2), 2 (3 by the source), 3 (4 by the
// source): 3.
TEST(FastestNodeFirst, ThreeOthersByHand) {
  const SpreadSchedule spread = *FastestNodeFirst(1, {4, 2, 3});
  EXPECT_EQ(spread.makespan_s, 3);
  EXPECT_EQ(spread.informed, (std::vector<MachineIndex>{1, 2, 0}));
  EXPECT_EQ(*ExactBroadcastLength(1, {4, 2, 3}), 3);
}

// Hand solution: K = 1 runs one message after another: 3 + 1 + 2 + 2 = 8.
TEST(LimitedTransfers, OneAtATimeAddsUp) {
  EXPECT_EQ(ExactLimitedSequence({3, 1, 2, 2}, 1)->makespan_s, 8);
  EXPECT_EQ(SlowestNodeFirst({3, 1, 2, 2}, 1)->makespan_s, 8);
}

// Hand solution: two machines: send 3 + receive 2.
TEST(PairCosts, TwoMachines) { EXPECT_EQ(PairCostTree({9, 3}, {2, 8}, 10)->makespan_s, 5); }

}  // namespace
}  // namespace weir::planner::tree
