// The validator that judges every schedule of a tree finds what is wrong with one that was right.

#include "tests/unit/planner_tree/schedule_validator.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {
namespace {

constexpr PortModel kAll{true, true, true};
constexpr PortModel kHalfDuplex{false, true, true};
constexpr PortModel kNoOverlap{true, false, true};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Three machines, two segments: machine 2 sends the first one to 1 and the second one to 0, then 1
// sends both to 0. A transfer takes 2 s, combining 1 s: 0 has all at 6 s and has combined it at 7
// s.
Schedule Right() {
  Schedule schedule;
  schedule.num_machines = 3;
  schedule.segment_units = {1, 1};
  const auto send = [&](MachineIndex from, MachineIndex to, std::int32_t begin, std::int32_t end,
                        Seconds start_s) {
    schedule.messages.push_back({.sender = from,
                                 .receiver = to,
                                 .segment_begin = begin,
                                 .segment_end = end,
                                 .port_s = 2,
                                 .combine_s = 1,
                                 .start_s = start_s});
  };
  send(2, 1, 0, 1, 0);
  send(2, 0, 1, 2, 2);
  send(1, 0, 0, 2, 4);
  schedule.makespan_s = 7;
  return schedule;
}

std::string FaultAfter(void (*change)(Schedule&), PortModel ports = kAll) {
  Schedule schedule = Right();
  change(schedule);
  return ScheduleFault(schedule, ports);
}

TEST(ScheduleValidator, TakesWhatIsRight) {
  EXPECT_EQ(ScheduleFault(Right(), kAll), "");
  EXPECT_EQ(ScheduleFault(Right(), kHalfDuplex), "");
}

TEST(ScheduleValidator, FindsPortsThatAreUsedTwice) {
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages[1].start_s = 1; }), "send port used twice");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages[1].start_s = 3; }), "receive port used twice");
}

// One that takes no time stands between the two in the order of their starts.
TEST(ScheduleValidator, FindsPortsThatAreUsedTwiceAroundAMessageOfNoLength) {
  EXPECT_EQ(FaultAfter([](Schedule& s) {
              s.messages[1].start_s = 1;
              s.messages.push_back({.sender = 2, .receiver = 1, .start_s = 0.5});
            }),
            "send port used twice");
}

// Machine 1 sends its own second segment while the first one of machine 2 comes in.
TEST(ScheduleValidator, FindsWhatSendsWhileItReceives) {
  const auto apart = [](Schedule& s) {
    s.messages[2].segment_end = 1;
    Message own = s.messages[2];
    own.segment_begin = 1;
    own.segment_end = 2;
    own.start_s = 0;
    s.messages.push_back(own);
  };
  EXPECT_EQ(FaultAfter(apart), "");
  EXPECT_EQ(FaultAfter(apart, kHalfDuplex), "sends while it receives");
}

// What machine 0 combines waits until nothing comes in any more.
TEST(ScheduleValidator, FindsAnEndBeforeAllIsCombined) {
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.makespan_s = 6.5; }),
            "ends at 7.000000, not at its makespan 6.500000");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.makespan_s = 7.5; }),
            "ends at 7.000000, not at its makespan 7.500000");
  EXPECT_EQ(ScheduleFault(Right(), kNoOverlap), "ends at 8.000000, not at its makespan 7.000000");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.makespan_s = 8; }, kNoOverlap), "");
}

TEST(ScheduleValidator, FindsWhatIsSentTooEarlyTwiceOrNotAtAll) {
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages[2].start_s = 2.5; }),
            "sends before its partial is ready");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages.push_back(s.messages[1]); }),
            "sends a segment that it does not hold");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages[2].segment_begin = 1; }),
            "the root lacks operands");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages.clear(); }), "the root lacks operands");
}

TEST(ScheduleValidator, FindsMachinesAndTimesThatAreNone) {
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages[0].receiver = 3; }), "machine out of range");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages[0].sender = kNoMachine; }),
            "machine out of range");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages[0].sender = 1; }), "machine out of range");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages[0].start_s = kNaN; }), "a time that is none");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.messages[0].port_s = -1; }), "a time that is none");
  EXPECT_EQ(FaultAfter([](Schedule& s) { s.makespan_s = kNaN; }), "a makespan that is no time");
}

}  // namespace
}  // namespace weir::planner::tree
