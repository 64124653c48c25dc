// Random clusters of 003 against a simulator, an explicit search in whole time units, and the
// proven ratios.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/instances/solve_instances.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/speeds/broadcast.h"
#include "planner/tree/speeds/class_dp.h"
#include "planner/tree/speeds/earliest_possible.h"
#include "planner/tree/speeds/pair_costs.h"
#include "planner/tree/speeds/sequence_search.h"
#include "planner/tree/speeds/slot_search.h"
#include "tests/unit/planner_tree/random_instances.h"
#include "tests/unit/planner_tree/time_step_search.h"

namespace weir::planner::tree {
namespace {

std::vector<Seconds> RandomTimes(std::mt19937_64& random, std::uint64_t most,
                                 std::uint64_t slowest) {
  std::vector<Seconds> times(1 + random() % most);
  for (Seconds& t : times) t = static_cast<double>(1 + random() % slowest);
  return times;
}

// Replays the messages: nobody in two at once, a sender's message is its last, at most K at once.
std::string SenderFault(const std::vector<Seconds>& times, const SenderSchedule& schedule,
                        std::int64_t limit) {
  const std::size_t m = times.size();
  std::vector<std::vector<std::pair<double, double>>> busy(m + 1);
  std::vector<std::pair<double, int>> events;
  double end = 0;
  std::vector<double> sent(m, -1);
  for (std::size_t k = 0; k < m; ++k) {
    const std::int32_t sender = schedule.sequence[k];
    const std::int32_t receiver = schedule.receiver[k];
    const std::pair<double, double> window = {schedule.start_s[k],
                                              schedule.start_s[k] + times[sender]};
    busy[sender].push_back(window);
    busy[receiver == kNoMachine ? m : receiver].push_back(window);
    sent[sender] = window.first;
    end = std::max(end, window.second);
    events.push_back({window.first, 1});
    events.push_back({window.second, -1});
  }
  for (std::size_t i = 0; i <= m; ++i) {
    std::sort(busy[i].begin(), busy[i].end());
    for (std::size_t k = 1; k < busy[i].size(); ++k) {
      if (busy[i][k].first < busy[i][k - 1].second) return "in two messages at once";
    }
    if (i < m && busy[i].back().first != sent[i]) return "receives after it has sent";
  }
  std::sort(events.begin(), events.end());
  std::int64_t active = 0;
  for (const auto& event : events) {
    active += event.second;
    if (active > limit) return "too many transfers";
  }
  return end == schedule.makespan_s ? "" : "wrong makespan";
}

TEST(HeterogeneousProperty, EarliestPossibleIsValidForAnyOrderAndLimit) {
  std::mt19937_64 random(2009);
  for (int k = 0; k < kRandomInstances; ++k) {
    const auto times = RandomTimes(random, 40, 9);
    std::vector<std::int32_t> order(times.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    std::shuffle(order.begin(), order.end(), random);
    const std::int64_t limit =
        k % 2 == 0 ? kNoTransferLimit : static_cast<std::int64_t>(1 + random() % 5);
    const SenderSchedule schedule = *EarliestPossible(times, order, limit);
    ASSERT_EQ(SenderFault(times, schedule, limit), "");
    std::vector<Seconds> ordered;
    for (std::int32_t i : order) ordered.push_back(times[i]);
    ASSERT_EQ(EarliestPossibleLength(ordered, limit), schedule.makespan_s);
    ASSERT_EQ(SenderFault(times, *SlowestNodeFirst(times, limit), limit), "");
  }
}

TEST(HeterogeneousProperty, SearchTableAndRatiosAgree) {
  std::mt19937_64 random(53);
  double worst = 1;
  for (int k = 0; k < kRandomInstances; ++k) {
    const auto times = RandomTimes(random, 14, 4);
    std::map<Seconds, std::int64_t> classes;
    for (Seconds t : times) ++classes[t];
    std::vector<Seconds> class_times;
    std::vector<std::int64_t> counts;
    for (const auto& [t, count] : classes) {
      class_times.push_back(t);
      counts.push_back(count);
    }
    const ClassOptimum dp = *ClassOptimumByDp(class_times, counts);
    const SlotSearchResult slots = *SearchSlots(times);
    ASSERT_TRUE(slots.proven);
    ASSERT_EQ(slots.makespan_s, dp.optimum_s);
    ASSERT_EQ(EarliestPossibleLength(slots.ordered_times), slots.makespan_s);
    ASSERT_EQ(EarliestPossibleLength(dp.ordered_times), dp.optimum_s);
    const double snf = SlowestNodeFirst(times)->makespan_s;
    worst = std::max(worst, snf / dp.optimum_s);
    ASSERT_LE(snf, 2 * dp.optimum_s);  // Theorem 2
    const double improved = ImproveSequence(times, kNoTransferLimit, 50)->makespan_s;
    ASSERT_LE(improved, snf);
    ASSERT_GE(improved, dp.optimum_s);
    // Theorem 4.
    if (class_times.size() == 2 && class_times[1] >= 2 * class_times[0]) {
      ASSERT_EQ(snf, dp.optimum_s);
    }
  }
  // What was found; a larger one says that the order got worse.
  EXPECT_DOUBLE_EQ(worst, 8.0 / 7);
}

using Machine = std::array<int, 2>;  // time to send, busy for

// A unit of time passes for machines, which stay sorted.
void PassUnit(std::vector<Machine>& machines) {
  for (Machine& m : machines) m[1] = std::max(0, m[1] - 1);
  std::sort(machines.begin(), machines.end());
}

// Every choice of sender and receiver at every instant.
int ExplicitReduction(const std::vector<int>& times, int limit) {
  using State = std::vector<Machine>;
  State first = {{0, 0}};  // the destination, which never sends
  for (int t : times) first.push_back({t, 0});
  std::sort(first.begin(), first.end());
  return FirstInstantDone(
      first, [](const State& state) { return state.size() == 1 && state[0][1] == 0; },
      [limit](const State& state, const auto& add) {
        const auto active =
            std::count_if(state.begin(), state.end(), [](const Machine& m) { return m[1] > 0; });
        if (active >= limit) return;
        for (std::size_t s = 0; s < state.size(); ++s) {
          if (state[s][0] == 0 || state[s][1] != 0) continue;
          for (std::size_t r = 0; r < state.size(); ++r) {
            if (r == s || state[r][1] != 0) continue;
            State next = state;
            next[r][1] = state[s][0];
            next.erase(next.begin() + static_cast<std::ptrdiff_t>(s));
            std::sort(next.begin(), next.end());
            add(std::move(next));
          }
        }
      },
      PassUnit);
}

TEST(HeterogeneousProperty, EqualsTheExplicitSearch) {
  std::mt19937_64 random(59);
  for (int k = 0; k < 150; ++k) {
    const auto times = RandomTimes(random, 6, 5);
    std::vector<int> whole(times.begin(), times.end());
    ASSERT_EQ(SearchSlots(times)->makespan_s, ExplicitReduction(whole, 1000));
    for (int limit : {1, 2}) {
      ASSERT_EQ(ExactLimitedSequence(times, limit)->makespan_s, ExplicitReduction(whole, limit));
    }
  }
}

// Every choice at every instant of a broadcast.
int ExplicitBroadcast(int source, std::vector<int> others) {
  using State = std::pair<std::vector<Machine>, std::vector<int>>;  // informed, uninformed
  std::sort(others.begin(), others.end());
  return FirstInstantDone(
      State({{source, 0}}, others),
      [](const State& state) {
        const bool idle = std::all_of(state.first.begin(), state.first.end(),
                                      [](const Machine& m) { return m[1] == 0; });
        return state.second.empty() && idle;
      },
      [](const State& state, const auto& add) {
        for (std::size_t s = 0; s < state.first.size(); ++s) {
          if (state.first[s][1] != 0) continue;
          for (std::size_t u = 0; u < state.second.size(); ++u) {
            State next = state;
            const int time = state.first[s][0];
            next.first[s][1] = time;
            next.first.push_back({state.second[u], time});
            std::sort(next.first.begin(), next.first.end());
            next.second.erase(next.second.begin() + static_cast<std::ptrdiff_t>(u));
            add(std::move(next));
          }
        }
      },
      [](State& state) { PassUnit(state.first); });
}

TEST(HeterogeneousProperty, BroadcastEqualsTheExplicitSearchAndKeepsItsRatio) {
  std::mt19937_64 random(61);
  for (int k = 0; k < 150; ++k) {
    const auto others = RandomTimes(random, 5, 5);
    const double fastest = *std::min_element(others.begin(), others.end());
    const double source = 1 + static_cast<double>(random() % static_cast<std::uint64_t>(fastest));
    const double optimum = *ExactBroadcastLength(source, others);
    ASSERT_EQ(optimum, ExplicitBroadcast(static_cast<int>(source),
                                         std::vector<int>(others.begin(), others.end())));
    const double fnf = FastestNodeFirst(source, others)->makespan_s;
    ASSERT_LE(fnf, 1.5 * optimum + 1e-9);
  }
  for (int k = 0; k < kRandomInstances; ++k) {
    const auto others = RandomTimes(random, 9, 9);
    const double source = *std::min_element(others.begin(), others.end());
    const double optimum = *ExactBroadcastLength(source, others);
    ASSERT_LE(optimum, FastestNodeFirst(source, others)->makespan_s);
    ASSERT_LE(FastestNodeFirst(source, others)->makespan_s, 1.5 * optimum + 1e-9);
    // Theorem 3 against the larger of the two lower bounds.
    ASSERT_LE(*AllReduceLength(source, others),
              3.5 * std::max(optimum, SearchSlots(others)->makespan_s) + 1e-9);
  }
}

// All sequences of transfers with costs s_i + r_j, each as early as possible.
double ExactPairs(const std::vector<Seconds>& send, const std::vector<Seconds>& receive) {
  const std::size_t n = send.size();
  double best = 1e300;
  std::vector<double> free(n, 0);
  std::vector<bool> there(n, true);
  auto extend = [&](auto&& self, std::size_t left, double last) -> void {
    if (left == 0) {
      best = std::min(best, free[0]);
      return;
    }
    for (std::size_t i = 1; i < n; ++i) {
      for (std::size_t j = 0; there[i] && j < n; ++j) {
        if (j == i || !there[j]) continue;
        const double start = std::max(free[i], free[j]);
        const double end = start + send[i] + receive[j];
        if (start < last || end >= best) continue;
        const double before = std::exchange(free[j], end);
        there[i] = false;
        self(self, left - 1, start);
        there[i] = true;
        free[j] = before;
      }
    }
  };
  extend(extend, n - 1, 0);
  return best;
}

TEST(HeterogeneousProperty, PairCostTreesAreValidAndNearTheOptimum) {
  std::mt19937_64 random(67);
  double worst = 1;
  for (int k = 0; k < kRandomInstances; ++k) {
    const bool small = k < 1000;
    const std::size_t n = 2 + random() % (small ? 4 : 12);
    std::vector<Seconds> send(n), receive(n);
    for (Seconds& s : send) s = static_cast<double>(1 + random() % 9);
    for (Seconds& r : receive) r = static_cast<double>(random() % 9);
    const TimedTree tree = *PairCostTree(send, receive, small ? 300 : 20);
    std::vector<std::vector<std::pair<double, double>>> busy(n);
    for (std::size_t i = 1; i < n; ++i) {
      const auto to = static_cast<std::size_t>(tree.receiver[i]);
      const std::pair<double, double> window = {tree.start_s[i],
                                                tree.start_s[i] + send[i] + receive[to]};
      busy[i].push_back(window);
      busy[to].push_back(window);
      ASSERT_LE(window.second, tree.makespan_s + 1e-9);
    }
    for (std::size_t i = 0; i < n; ++i) {
      std::sort(busy[i].begin(), busy[i].end());
      for (std::size_t x = 1; x < busy[i].size(); ++x) {
        ASSERT_GE(busy[i][x].first, busy[i][x - 1].second - 1e-9);
      }
      if (i > 0) {
        ASSERT_EQ(busy[i].back().first, tree.start_s[i]);
      }
    }
    if (small) worst = std::max(worst, tree.makespan_s / ExactPairs(send, receive));
  }
  EXPECT_LE(worst, 1.1);
}

// The lower bounds that stand in for an optimum hold where the optimum is known.
TEST(HeterogeneousProperty, LowerBoundsStayBelowTheOptimum) {
  std::mt19937_64 random(83);
  for (int k = 0; k < 400; ++k) {
    std::vector<Seconds> times(1 + random() % 9);
    for (Seconds& time_s : times) time_s = static_cast<double>(1 + random() % 12);
    ASSERT_LE(SenderLowerBound(times, kNoTransferLimit), SearchSlots(times)->makespan_s + 1e-9);
    const auto limit = static_cast<std::int64_t>(1 + random() % 4);
    ASSERT_LE(SenderLowerBound(times, limit),
              ExactLimitedSequence(times, limit)->makespan_s + 1e-9);
    const auto source_s = static_cast<double>(1 + random() % 12);
    ASSERT_LE(BroadcastLowerBound(source_s, times), *ExactBroadcastLength(source_s, times) + 1e-9);
  }
  EXPECT_EQ(SenderLowerBound({2, 2, 2, 2, 2, 2, 2}, kNoTransferLimit), 6);
  EXPECT_EQ(SenderLowerBound({3, 1, 1}, 1), 5);
  EXPECT_EQ(BroadcastLowerBound(1, {1, 1, 1}), 2);
}

// Sixty speeds are too many for both exact searches: the result says so, and bounds what it gives.
TEST(HeterogeneousProperty, BeyondTheExactSearchesTheHeuristicSaysSo) {
  std::string senders;
  for (int i = 0; i < 60; ++i) {
    senders += (i == 0 ? "" : ",") + std::to_string(10 + 7 * (i * 37 % 101));
  }
  const auto text = SolveInstancesJson(
      R"({"schema":1,"instances":[{"id":"a","alg":"liu_snf_and_optimum","input":{"senders":[)" +
      senders + "]}}]}");
  ASSERT_TRUE(text.ok()) << text.status();
  const nlohmann::json result = nlohmann::json::parse(*text)["results"][0];
  EXPECT_EQ(result["exact"], false);
  EXPECT_FALSE(result.contains("optimum"));
  EXPECT_LE(result["makespan"].get<double>(), result["snf"].get<double>());
  EXPECT_LE(result["lower_bound"].get<double>(), result["makespan"].get<double>());
  EXPECT_NE(result["note"].get<std::string>().find("gave up after"), std::string::npos);
}

}  // namespace
}  // namespace weir::planner::tree
