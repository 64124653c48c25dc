// The order of EarliestFirst against the plain form of its rule, and at a size at which that form
// never ends.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/tree/hosts/lane_clock.h"
#include "planner/tree/hosts/racks.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/rack_schedules.h"
#include "planner/tree/segments/reduce_scatter.h"
#include "tests/unit/planner_tree/port_models.h"
#include "tests/unit/planner_tree/rack_networks.h"

namespace weir::planner::tree {
namespace {

struct Rule {
  PortModel ports;
  Seconds lanes_early_s = 0;
  bool keeps_receives = false;
};

bool Meet(const Message& a, const Message& b, std::int32_t q) {
  for (std::int32_t i = a.segment_begin; i < a.segment_end; ++i) {
    for (std::int32_t j = b.segment_begin; j < b.segment_end; ++j) {
      if (i % q == j % q) return true;
    }
  }
  return false;
}

// By message: those before it in the list that make what it carries, or what it joins, or that take
// away what it would join.
std::vector<std::vector<std::size_t>> WaitsOf(const Schedule& schedule, bool keeps_receives) {
  const auto q = static_cast<std::int32_t>(schedule.segment_units.size());
  std::vector<std::vector<std::size_t>> waits(schedule.messages.size());
  for (std::size_t k = 0; k < waits.size(); ++k) {
    const Message& m = schedule.messages[k];
    for (std::size_t i = 0; i < k; ++i) {
      const Message& before = schedule.messages[i];
      const bool same_cell = before.receiver == m.sender || before.receiver == m.receiver ||
                             before.sender == m.receiver;
      if ((same_cell && Meet(before, m, q)) || (keeps_receives && before.receiver == m.receiver)) {
        waits[k].push_back(i);
      }
    }
  }
  return waits;
}

// Of all messages that wait for no other the one that can start first, but not before the last one
// that it waited for, then by its place in the list; each is looked at before each choice.
Schedule PlainEarliestFirst(const Schedule& schedule, const NetworkModel& network,
                            const Rule& rule) {
  Schedule ordered = schedule;
  ordered.messages.clear();
  ordered.makespan_s = 0;
  PortClock clock(schedule.num_machines, static_cast<std::int32_t>(schedule.segment_units.size()),
                  rule.ports);
  LaneClock lanes(network, rule.lanes_early_s);
  const auto start_of = [&](const Message& message) {
    Seconds start_s = clock.EarliestStart(message);
    for (Seconds tried_s = -1; tried_s < start_s;) {
      tried_s = start_s;
      start_s = lanes.EarliestStart(message.sender, message.receiver, tried_s);
      if (start_s > tried_s) start_s = clock.EarliestStart(message, start_s);
    }
    return start_s;
  };
  const std::vector<std::vector<std::size_t>> waits = WaitsOf(schedule, rule.keeps_receives);
  std::vector<bool> placed(waits.size(), false);
  std::vector<std::size_t> left;  // how many each still waits for
  for (const std::vector<std::size_t>& of_one : waits) left.push_back(of_one.size());
  std::vector<Seconds> freed_s(waits.size(), 0);
  for (std::size_t count = 0; count < waits.size(); ++count) {
    std::pair<Seconds, std::size_t> first{std::numeric_limits<double>::infinity(), waits.size()};
    for (std::size_t k = 0; k < waits.size(); ++k) {
      if (placed[k] || left[k] > 0) continue;
      first = std::min(first, {std::max(freed_s[k], start_of(schedule.messages[k])), k});
    }
    const std::size_t k = first.second;
    if (k == waits.size()) return ordered;  // the list cannot be carried out
    Message message = schedule.messages[k];
    const Seconds end_s = clock.PlaceNotBefore(message, start_of(message));
    lanes.Place(message.sender, message.receiver, message.start_s,
                message.start_s + message.flight_s + message.port_s);
    ordered.messages.push_back(message);
    if (message.receiver == ordered.root) ordered.makespan_s = std::max(ordered.makespan_s, end_s);
    placed[k] = true;
    for (std::size_t next = k + 1; next < waits.size(); ++next) {
      if (std::find(waits[next].begin(), waits[next].end(), k) == waits[next].end()) continue;
      if (--left[next] == 0) freed_s[next] = message.start_s;
    }
  }
  return ordered;
}

// A random tree a segment, what is below a machine before what it sends, segments mixed.
Schedule RandomTrees(std::mt19937_64& random, std::int32_t p, std::vector<double> units,
                     const LinkCosts& costs, PortModel ports) {
  Schedule schedule = EmptySchedule("trees", p, std::move(units));
  const auto q = static_cast<std::int32_t>(schedule.segment_units.size());
  std::vector<std::vector<Message>> of_segment;
  for (std::int32_t j = 0; j < q; ++j) {
    std::vector<Message>& messages = of_segment.emplace_back();
    for (MachineIndex i = p - 1; i > 0; --i) {
      const auto to = static_cast<MachineIndex>(random() % static_cast<std::uint64_t>(i));
      messages.push_back(MakeMessage(schedule, costs, ports, i, to, j, j + 1));
    }
  }
  std::vector<std::size_t> next(of_segment.size(), 0);
  const std::size_t all = static_cast<std::size_t>(p - 1) * of_segment.size();
  while (schedule.messages.size() < all) {
    const std::size_t j = random() % of_segment.size();
    if (next[j] < of_segment[j].size()) schedule.messages.push_back(of_segment[j][next[j]++]);
  }
  return schedule;
}

TEST(EarliestFirstTest, PlacesTheSameMessagesAsThePlainRule) {
  std::mt19937_64 random(98);
  for (int round = 0; round < 300; ++round) {
    NetworkModel network = RandomRacks(random);
    const std::int32_t p = network.num_workers;
    if (p > 10) continue;
    if (random() % 3 == 0) {
      for (std::int32_t i = 0; i < p; ++i)
        network.port_slowdown.push_back(static_cast<double>(1 + random() % 4));
    }
    const LinkCosts costs{static_cast<double>(random() % 3), 1, static_cast<double>(random() % 3)};
    Rule rule;
    rule.ports = {random() % 2 == 0, random() % 2 == 0, random() % 4 != 0};
    rule.lanes_early_s = random() % 3 == 0 ? costs.alpha_s : 0;
    rule.keeps_receives = random() % 4 == 0;
    std::vector<double> units(1 + random() % 6, 2.0);
    if (random() % 2 == 0) {
      for (double& size : units) size = static_cast<double>(random() % 3);
    }
    std::vector<Schedule> lists = {RandomTrees(random, p, units, costs, rule.ports),
                                   *RabenseifnerSchedule(p, 8, costs, rule.ports),
                                   *ReduceScatterSchedule(p, 8, costs, rule.ports),
                                   *CirculantSchedule(p, units, costs, rule.ports)};
    for (const Schedule& list : lists) {
      const Schedule plain = PlainEarliestFirst(list, network, rule);
      const Schedule ordered =
          EarliestFirst(list, rule.ports, network, rule.lanes_early_s, rule.keeps_receives);
      ASSERT_EQ(ordered.messages.size(), list.messages.size()) << list.method;
      ASSERT_EQ(plain.messages.size(), list.messages.size()) << list.method;
      for (std::size_t k = 0; k < plain.messages.size(); ++k) {
        const Message& got = ordered.messages[k];
        const Message& expected = plain.messages[k];
        ASSERT_EQ(
            std::tuple(got.sender, got.receiver, got.segment_begin, got.segment_end, got.start_s),
            std::tuple(expected.sender, expected.receiver, expected.segment_begin,
                       expected.segment_end, expected.start_s))
            << list.method << ", round " << round << ", message " << k;
      }
      ASSERT_EQ(ordered.makespan_s, plain.makespan_s) << list.method;
    }
  }
}

// Each message of a leaf was looked at whenever another of its receiver's was sent: a quarter of an
// hour.
TEST(EarliestFirstTest, ManySegmentsThatWaitForOnePortAreFast) {
  constexpr std::int32_t kSegments = 30'000;
  const NetworkModel network = RackNetwork({4, 4}, 1);
  const auto schedule =
      RackTreeSchedule(RacksOf(network, 0), RackShape::kBinomial, std::vector<double>(kSegments, 1),
                       {{0, 1, 0}, kOverlap, network});
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->messages.size(), 7u * kSegments);
  // The root takes three messages a segment.
  EXPECT_GE(schedule->makespan_s, 3.0 * kSegments);
  EXPECT_LE(schedule->makespan_s, 3.01 * kSegments);
}

}  // namespace
}  // namespace weir::planner::tree
