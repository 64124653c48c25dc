// Random segmented reductions against the event simulator, their bounds and their closed lengths.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

#include "planner/tree/choice/operand_order.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/bidirectional_greedy.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/reduce_scatter.h"
#include "planner/tree/segments/segmented_evaluation.h"
#include "planner/tree/segments/segmented_exact.h"
#include "planner/tree/segments/tree_shapes.h"
#include "planner/tree/segments/unidirectional_greedy.h"
#include "tests/unit/planner_tree/port_models.h"
#include "tests/unit/planner_tree/random_instances.h"
#include "tests/unit/planner_tree/schedule_validator.h"
#include "tests/unit/planner_tree/time_step_search.h"

namespace weir::planner::tree {
namespace {

struct Instance {
  std::int32_t p;
  std::vector<double> units;
  LinkCosts costs;
};

Instance RandomInstance(std::mt19937_64& random, bool equal) {
  Instance instance{static_cast<std::int32_t>(1 + random() % 12), {}, {}};
  const auto q = 1 + random() % 6;
  for (std::uint64_t j = 0; j < q; ++j) {
    instance.units.push_back(equal && j > 0 ? instance.units[0]
                                            : static_cast<double>(1 + random() % 3));
  }
  instance.costs = {static_cast<double>(random() % 4), static_cast<double>(1 + random() % 2),
                    static_cast<double>(random() % 3)};
  return instance;
}

TEST(SegmentedProperty, UnidirectionalGreedyIsValidAndCompressesExactly) {
  std::mt19937_64 random(2013);
  for (int k = 0; k < kRandomInstances; ++k) {
    const Instance x = RandomInstance(random, false);
    const Schedule schedule = *UnidirectionalGreedySchedule(x.p, x.units, x.costs);
    ASSERT_EQ(ScheduleFault(schedule, kUnidirectional), "");
    ASSERT_EQ(schedule.makespan_s, *UnidirectionalGreedyLength(x.p, x.units, x.costs));
    // No tree over the same segments in order is shorter (002, Theorem): one tree pipelines in
    // order on every machine.
    double one_by_one_s = 0;
    for (double s : x.units) {
      one_by_one_s += static_cast<double>(CeilLog2(x.p)) *
                      (x.costs.alpha_s + (x.costs.beta_s_per_unit + x.costs.gamma_s_per_unit) * s);
    }
    ASSERT_LE(schedule.makespan_s, one_by_one_s + 1e-9);
  }
}

// Exhaustive search in whole units of the half-duplex model with the segments in order.
int BruteForceInOrder(int p, const std::vector<int>& transfer, const std::vector<int>& combine) {
  using Progress = std::array<int, 2>;  // segment at which it is, busy for
  using State = std::vector<Progress>;  // the root, then the others sorted
  const int q = static_cast<int>(transfer.size());
  return FirstInstantDone(
      State(static_cast<std::size_t>(p), Progress{0, 0}),
      [q](const State& state) { return state[0][0] == q; },
      [&](const State& state, const auto& add) {
        const auto add_sorted = [&add](State next) {
          std::sort(next.begin() + 1, next.end());
          add(std::move(next));
        };
        for (std::size_t a = 1; a < state.size(); ++a) {
          const int j = state[a][0];
          if (state[a][1] != 0 || j == q) continue;
          for (std::size_t b = 0; b < state.size(); ++b) {
            if (b == a || state[b][1] != 0 || state[b][0] != j) continue;
            State next = state;
            const int sent = transfer[static_cast<std::size_t>(j)];
            next[a] = {j + 1, sent};
            next[b][1] = sent + combine[static_cast<std::size_t>(j)];
            add_sorted(std::move(next));
          }
        }
        bool root_done = state[0][1] == 0;
        for (std::size_t a = 1; a < state.size(); ++a) {
          root_done = root_done && state[a][0] > state[0][0];
        }
        if (root_done) {
          State next = state;
          ++next[0][0];
          add_sorted(std::move(next));
        }
      },
      [](State& state) {
        for (Progress& m : state) m[1] = std::max(0, m[1] - 1);
        std::sort(state.begin() + 1, state.end());
      });
}

TEST(SegmentedProperty, UnidirectionalGreedyEqualsTheBruteForceInOrder) {
  std::mt19937_64 random(1986);
  for (int p = 2; p <= 5; ++p) {
    for (int q = 1; q <= (p <= 4 ? 3 : 2); ++q) {
      for (int repeat = 0; repeat < 6; ++repeat) {
        const int alpha = static_cast<int>(random() % 3);
        const int beta = static_cast<int>(1 + random() % 2);
        const int gamma = static_cast<int>(random() % 3);
        std::vector<int> transfer, combine;
        std::vector<double> units;
        for (int j = 0; j < q; ++j) {
          const int size = static_cast<int>(1 + random() % 2);
          transfer.push_back(alpha + beta * size);
          combine.push_back(gamma * size);
          units.push_back(size);
        }
        const LinkCosts costs{static_cast<double>(alpha), static_cast<double>(beta),
                              static_cast<double>(gamma)};
        ASSERT_EQ(*UnidirectionalGreedyLength(p, units, costs),
                  BruteForceInOrder(p, transfer, combine));
      }
    }
  }
}

TEST(SegmentedProperty, BidirectionalGreedyIsValidAndRoundOptimal) {
  std::mt19937_64 random(2008);
  for (int k = 0; k < kRandomInstances; ++k) {
    const bool equal = k % 2 == 0;
    const Instance x = RandomInstance(random, equal);
    const Schedule greedy = *BidirectionalGreedySchedule(x.p, x.units, x.costs);
    ASSERT_EQ(ScheduleFault(greedy, kBidirectional), "");
    if (!equal || x.p == 1) continue;
    const double round_s =
        x.costs.alpha_s + (x.costs.beta_s_per_unit + x.costs.gamma_s_per_unit) * x.units[0];
    const auto rounds =
        static_cast<double>(CeilLog2(x.p)) + static_cast<double>(x.units.size()) - 1;
    ASSERT_NEAR(greedy.makespan_s, rounds * round_s, 1e-9);
    ASSERT_NEAR(CirculantSchedule(x.p, x.units, x.costs, kBidirectional)->makespan_s,
                rounds * round_s, 1e-9);
  }
}

TEST(SegmentedProperty, EveryScheduleIsValidUnderEveryPortModel) {
  std::mt19937_64 random(7);
  for (int k = 0; k < kRandomInstances; ++k) {
    const Instance x = RandomInstance(random, k % 2 == 0);
    const PortModel ports{random() % 2 == 0, random() % 2 == 0, random() % 4 != 0};
    const auto [first, second] = TwoTreeShapes(x.p);
    const double total = [&] {
      double sum = 0;
      for (double s : x.units) sum += s;
      return sum;
    }();
    for (const auto& schedule :
         {CirculantSchedule(x.p, x.units, x.costs, ports),
          InterleavedSchedule(x.p, x.units, x.costs, ports),
          RabenseifnerSchedule(x.p, total, x.costs, ports),
          OrderedTwoTree(x.p, x.units, x.costs, ports),
          ListSchedule("two-tree", {first, second}, x.units, x.costs, ports),
          ListSchedule("centres", RotatingCentreShapes(x.p), x.units, x.costs, ports),
          ListSchedule("binary", {BinaryShape(x.p)}, x.units, x.costs, ports)}) {
      ASSERT_TRUE(schedule.ok());
      ASSERT_EQ(ScheduleFault(*schedule, ports), "")
          << schedule->method << " p " << x.p << " q " << x.units.size() << " duplex "
          << ports.full_duplex << " overlap " << ports.overlaps_compute << " latency "
          << ports.latency_holds_ports;
    }
  }
}

TEST(SegmentedProperty, OverlapSchedulesStayBetweenTheirBounds) {
  std::mt19937_64 random(11);
  for (int k = 0; k < kRandomInstances; ++k) {
    Instance x = RandomInstance(random, true);
    x.p = static_cast<std::int32_t>(2 + random() % 40);
    x.units.assign(1 + random() % 30, 1.0);
    const ElementCosts element{x.costs.alpha_s + x.costs.beta_s_per_unit, x.costs.gamma_s_per_unit};
    const auto q = static_cast<std::int64_t>(x.units.size());
    const double bound_s = *OverlapLowerBound(x.p, q, element);
    const Schedule interleaved = *InterleavedSchedule(x.p, x.units, x.costs, kOverlap);
    ASSERT_EQ(ScheduleFault(interleaved, kOverlap), "");
    ASSERT_GE(interleaved.makespan_s, bound_s - 1e-9);
    ASSERT_GE(CirculantSchedule(x.p, x.units, x.costs, kOverlap)->makespan_s, bound_s - 1e-9);
    if (q < 2) continue;
    const double most_s = static_cast<double>(2 * CeilLog2(x.p) + q) *
                          std::max(element.transfer_s, element.combine_s);
    ASSERT_LE(interleaved.makespan_s, most_s + 1e-9) << x.p << " " << q;
  }
}

// The exact search finds nothing longer than any schedule of its model, and nothing below the
// bound.
TEST(SegmentedProperty, ExactSearchIsBelowEverySchedule) {
  std::mt19937_64 random(17);
  const PortModel ports{true, true, false};
  for (int k = 0; k < 300; ++k) {
    const auto n = static_cast<std::int32_t>(2 + random() % 3);
    const auto m = static_cast<std::int32_t>(1 + random() % (n == 4 ? 2 : 3));
    const LinkCosts costs{static_cast<double>(random() % 3), static_cast<double>(1 + random() % 3),
                          static_cast<double>(random() % 4)};
    const std::vector<double> units(static_cast<std::size_t>(m), 1.0);
    const Schedule exact = *SegmentedExactSearch(n, m, costs);
    ASSERT_EQ(ScheduleFault(exact, ports), "");
    ASSERT_LE(exact.makespan_s, FindMinDestinations(n, m, costs)->makespan_s + 1e-9);
    ASSERT_LE(exact.makespan_s, CirculantSchedule(n, units, costs, ports)->makespan_s + 1e-9);
    ASSERT_LE(exact.makespan_s, InterleavedSchedule(n, units, costs, ports)->makespan_s + 1e-9);
    if (costs.alpha_s == 0) {
      ASSERT_GE(exact.makespan_s,
                *OverlapLowerBound(n, m, {costs.beta_s_per_unit, costs.gamma_s_per_unit}) - 1e-9);
    }
  }
}

}  // namespace
}  // namespace weir::planner::tree
