// List schedules against the plain form of their rule, and at a size at which that form never ends.

#include "planner/tree/segments/list_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/segments/tree_shapes.h"
#include "tests/unit/planner_tree/port_models.h"
#include "tests/unit/planner_tree/schedule_validator.h"

namespace weir::planner::tree {
namespace {

using Shapes = std::vector<std::vector<MachineIndex>>;

// Of all messages that are open the one that starts first, then by segment, then by sender; each is
// looked at before each choice.
Schedule PlainListSchedule(const Shapes& trees, const std::vector<double>& units,
                           const LinkCosts& costs, PortModel ports) {
  const auto p = static_cast<std::int32_t>(trees[0].size());
  const auto q = static_cast<std::int32_t>(units.size());
  Schedule schedule = EmptySchedule("plain", p, units);
  PortClock clock(p, q, ports);
  std::vector<std::vector<std::int32_t>> waiting_for(
      units.size(), std::vector<std::int32_t>(static_cast<std::size_t>(p), 0));
  const auto receiver_of = [&](std::int32_t segment, MachineIndex sender) {
    return trees[static_cast<std::size_t>(segment) % trees.size()]
                [static_cast<std::size_t>(sender)];
  };
  std::vector<std::pair<std::int32_t, MachineIndex>> open;  // segment, sender
  for (std::int32_t j = 0; j < q; ++j) {
    auto& waiting = waiting_for[static_cast<std::size_t>(j)];
    for (MachineIndex i = 1; i < p; ++i) ++waiting[static_cast<std::size_t>(receiver_of(j, i))];
    for (MachineIndex i = 1; i < p; ++i) {
      if (waiting[static_cast<std::size_t>(i)] == 0) open.emplace_back(j, i);
    }
  }
  while (!open.empty()) {
    const auto key = [&](const std::pair<std::int32_t, MachineIndex>& at) {
      const auto [segment, sender] = at;
      const Message message = MakeMessage(schedule, costs, ports, sender,
                                          receiver_of(segment, sender), segment, segment + 1);
      return std::tuple(clock.EarliestStart(message), segment, sender);
    };
    const auto first = std::min_element(
        open.begin(), open.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    const auto [segment, sender] = *first;
    open.erase(first);
    const MachineIndex receiver = receiver_of(segment, sender);
    Message message = MakeMessage(schedule, costs, ports, sender, receiver, segment, segment + 1);
    const Seconds end_s = clock.Place(message);
    schedule.messages.push_back(message);
    if (receiver == 0) schedule.makespan_s = std::max(schedule.makespan_s, end_s);
    auto& waiting = waiting_for[static_cast<std::size_t>(segment)];
    if (--waiting[static_cast<std::size_t>(receiver)] == 0 && receiver != 0) {
      open.emplace_back(segment, receiver);
    }
  }
  return schedule;
}

Shapes RandomShapes(std::mt19937_64& random, std::int32_t p) {
  Shapes trees(1 + random() % 3);
  for (std::vector<MachineIndex>& tree : trees) {
    tree = {kNoMachine};
    for (std::int32_t i = 1; i < p; ++i) {
      tree.push_back(static_cast<MachineIndex>(random() % static_cast<std::uint64_t>(i)));
    }
  }
  return trees;
}

TEST(ListScheduleTest, PlacesTheSameMessagesAsThePlainRule) {
  std::mt19937_64 random(97);
  for (int round = 0; round < 400; ++round) {
    const auto p = static_cast<std::int32_t>(2 + random() % 7);
    const Shapes trees = RandomShapes(random, p);
    std::vector<double> units(1 + random() % 9, 2.0);
    if (random() % 2 == 0) units.back() = 1;
    if (random() % 4 == 0) {
      for (double& size : units) size = static_cast<double>(1 + random() % 3);
    }
    const LinkCosts costs{static_cast<double>(random() % 3), 1, static_cast<double>(random() % 3)};
    const PortModel ports{random() % 2 == 0, random() % 2 == 0, random() % 2 == 0};
    const auto listed = ListSchedule("listed", trees, units, costs, ports);
    ASSERT_TRUE(listed.ok()) << listed.status();
    const Schedule plain = PlainListSchedule(trees, units, costs, ports);
    ASSERT_EQ(listed->messages.size(), plain.messages.size());
    for (std::size_t k = 0; k < plain.messages.size(); ++k) {
      const Message& got = listed->messages[k];
      const Message& expected = plain.messages[k];
      ASSERT_EQ(
          std::tuple(got.sender, got.receiver, got.segment_begin, got.start_s),
          std::tuple(expected.sender, expected.receiver, expected.segment_begin, expected.start_s))
          << "round " << round << ", message " << k;
    }
    ASSERT_EQ(listed->makespan_s, plain.makespan_s);
  }
}

// Each message of a leaf was looked at whenever one of another leaf was sent: half an hour.
TEST(ListScheduleTest, ManySegmentsThatWaitForOnePortAreFast) {
  constexpr std::int32_t kSegments = 20'000;
  const std::vector<MachineIndex> star = {kNoMachine, 0, 0, 0, 0, 0, 0, 0, 0};
  const auto schedule =
      ListSchedule("star", {star}, std::vector<double>(kSegments, 1), {1, 1, 0}, kOverlap);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->messages.size(), 8u * kSegments);
  EXPECT_DOUBLE_EQ(schedule->makespan_s, 2.0 * 8 * kSegments);
}

}  // namespace
}  // namespace weir::planner::tree
