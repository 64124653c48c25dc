// Draws the figures of docs/planner-trees.md into a folder and prints the numbers that its text
// states. Usage: planner_tree_figures FOLDER

#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "planner/instances/tree_drawing.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/choice/selection.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/model/tree_timing.h"
#include "planner/tree/segments/bidirectional_greedy.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/segment_sizes.h"
#include "planner/tree/segments/segmented_evaluation.h"
#include "planner/tree/segments/segmented_exact.h"
#include "planner/tree/segments/tree_shapes.h"
#include "planner/tree/segments/unidirectional_greedy.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/implicit_tree.h"
#include "planner/tree/single/named_trees.h"
#include "planner/tree/single/release_dates.h"
#include "planner/tree/speeds/class_dp.h"
#include "planner/tree/speeds/earliest_possible.h"
#include "planner/tree/speeds/slot_search.h"
#include "tests/bench/tree/chart_svg.h"

namespace weir::planner::tree {
namespace {

std::string folder;

void Write(const std::string& name, const std::string& svg) {
  std::ofstream file(folder + "/" + name + ".svg");
  file << svg;
  if (!file) {
    std::fprintf(stderr, "Cannot write %s/%s.svg\n", folder.c_str(), name.c_str());
    std::exit(1);
  }
}

// 000, Fig. 1: four elements, d = c.
void FourElements() {
  const Schedule schedule = FromTree("greedy tree", *GreedyTree(4, {1, 1}), {1, 1}, 1);
  Write("four-tree", TreeSvg(schedule, 0, "000, Fig. 1: four machines, d = c = 1, makespan 4"));
  Write("four-gantt", ScheduleSvg(schedule, "000, Fig. 1: four machines, d = c = 1, makespan 4"));
}

// 000, Fig. 2: binomial strategy at d = c and Fibonacci strategy at min(d, c) = 0 against the
// optimum.
void StrategyRatios() {
  struct Curve {
    const char* name;
    ElementCosts shape;
    ElementCosts costs;
  };
  std::vector<ChartLine> lines;
  for (const Curve& curve : {Curve{"binomial, d = c", {1, 0}, {1, 1}},
                             {"Fibonacci, c = 0", {1, 1}, {1, 0}},
                             {"Fibonacci, d = 0", {1, 1}, {0, 1}}}) {
    const std::vector<MachineIndex> tree = GreedyTree(10'000, curve.shape)->receiver;
    ChartLine line{curve.name, {}};
    double most = 0;
    int most_at = 0;
    for (int n = 2; n <= 10'000; n += n < 300 ? 1 : n / 300) {
      // The greedy tree of n machines is the beginning of the greedy tree of more.
      const absl::Span<const MachineIndex> part(tree.data(), static_cast<std::size_t>(n));
      const double ratio = TimeTree(part, curve.costs)->makespan_s /
                           ImplicitTree::Create(n, curve.costs)->makespan_s();
      line.points.push_back({n, ratio});
      if (ratio > most) {
        most = ratio;
        most_at = n;
      }
    }
    std::printf("fig2 %s: largest ratio %.4f at n = %d, last %.4f\n", curve.name, most, most_at,
                line.points.back().second);
    lines.push_back(std::move(line));
  }
  const std::int64_t big = std::int64_t{1} << 59;
  std::printf("fig2 limit along 2^k: %.4f at k = 59\n",
              2.0 * 59 / ImplicitTree::Create(big, {1, 1})->makespan_s());
  std::printf(
      "fig2 limit along F_k: %.4f at order 80\n",
      FibonacciLength(80, {1, 0})->length_s /
          ImplicitTree::Create(FibonacciLength(80, {1, 0})->num_machines, {1, 0})->makespan_s());
  Write("strategy-ratios",
        LineChart({"000, Fig. 2: strategies over the optimum", "machines n", "ratio", true, 1, 2},
                  lines));
}

// 001: the printed results, and what the matrix form misses.
void SegmentedExample() {
  for (const LinkCosts costs :
       {LinkCosts{0.1, 1, 0.3}, {0.1, 1, 1.3}, {1.1, 1, 0.3}, {1.1, 1, 1.3}}) {
    const FindMinResult found = *FindMinDestinations(3, 2, costs);
    std::printf(
        "001 alpha %.1f gamma %.1f: mks %.1f nb %lld valid %lld min %lld distinct %zu, exact "
        "%.2f\n",
        costs.alpha_s, costs.gamma_s_per_unit, found.makespan_s,
        static_cast<long long>(found.num_tested), static_cast<long long>(found.num_valid),
        static_cast<long long>(found.num_optimal), found.distinct.size(),
        SegmentedExactSearch(3, 2, costs)->makespan_s);
  }
  const FindMinResult four = *FindMinDestinations(4, 4, {1, 1, 1});
  std::printf("001 n = 4 m = 4 all 1: mks %.1f nb %lld valid %lld min %lld distinct %zu\n",
              four.makespan_s, static_cast<long long>(four.num_tested),
              static_cast<long long>(four.num_valid), static_cast<long long>(four.num_optimal),
              four.distinct.size());
  Write(
      "segmented-exact",
      ScheduleSvg(*SegmentedExactSearch(3, 2, {0.1, 1, 0.3}),
                  "001: three machines, two segments, alpha .1, gamma .3: 3.4 (matrix form 3.8)"));
  for (const int n : {4, 8, 16}) {
    const std::vector<double> units(256, 1.0);
    const Schedule centres =
        *ListSchedule("centres", RotatingCentreShapes(n), units, {10, 1, 1}, {true, true, false});
    std::printf(
        "001 rotating centres n = %d m = 256 alpha 10: %.4f of the bound alpha + m max + min\n", n,
        centres.makespan_s / (10 + 256 + 1));
  }
}

double StandardLength(const char* name, double p, double m, const LinkCosts& costs) {
  const auto most = static_cast<std::int64_t>(std::max(1.0, m));
  const auto whole_p = static_cast<std::int64_t>(p);
  const std::string which = name;
  const double binary_levels = static_cast<double>(CeilLog2(whole_p + 1));
  if (which == "binomial") {
    return static_cast<double>(CeilLog2(whole_p)) *
           (costs.alpha_s + (costs.beta_s_per_unit + costs.gamma_s_per_unit) * m);
  }
  if (which == "pipeline") return BestUniformByFormula(p - 3, 2, m, costs, most).length_s;
  return BestUniformByFormula(2 * (binary_levels - 1) - 4, 4, m, costs, most).length_s;
}

// 002: regions of binomial, pipeline and binary by their formulas; greedy over the best of them.
void GreedyRegions() {
  const LinkCosts costs{10, 1, 0};
  HeatMap map{"alpha = 10, beta = 1, gamma = 0", {}, {}, {}, {}};
  std::vector<double> sizes;
  for (double e = 0; e <= 6; e += 0.5) sizes.push_back(std::round(std::pow(10, e)));
  for (double size : sizes) map.columns.push_back(ShortNumber(size));
  for (int p = 4; p <= 1024; p *= 2) {
    map.rows.push_back(std::to_string(p));
    map.winner.emplace_back();
    for (double size : sizes) {
      std::string best = "binomial";
      for (const char* name : {"pipeline", "binary"}) {
        if (StandardLength(name, p, size, costs) < StandardLength(best.c_str(), p, size, costs))
          best = name;
      }
      map.winner.back().push_back(best);
    }
  }
  Write("regions-standard",
        HeatMaps("002: best standard algorithm, half duplex", "message size", "machines", {map}));

  std::vector<ChartLine> lines;
  for (int p : {16, 64, 256}) {
    ChartLine line{"p = " + std::to_string(p), {}};
    double most = 0;
    double most_at = 0;
    for (double e = 0; e <= 5; e += 0.2) {
      const double m = std::round(std::pow(10, e));
      auto greedy_s = [&](std::int64_t q) {
        return *UnidirectionalGreedyLength(p, EqualSegments(m, static_cast<std::int32_t>(q)),
                                           costs);
      };
      const double greedy =
          BestUniformBySearch(greedy_s, std::min<std::int64_t>(600, static_cast<std::int64_t>(m)))
              .length_s;
      double standard = std::numeric_limits<double>::infinity();
      for (const char* name : {"binomial", "pipeline", "binary"})
        standard = std::min(standard, StandardLength(name, p, m, costs));
      line.points.push_back({m, standard / greedy});
      if (standard / greedy > most) {
        most = standard / greedy;
        most_at = m;
      }
    }
    std::printf("002 greedy against the best standard, p = %d: %.3f times at m = %.0f\n", p, most,
                most_at);
    lines.push_back(std::move(line));
  }
  Write("greedy-speedup",
        LineChart({"002: best standard algorithm over greedy, alpha = 10, beta = 1, gamma = 0",
                   "message size", "ratio", true, 1, 2},
                  lines));
}

// 002: the two Gantt figures and the table of segmentations.
void GreedyExamples() {
  const std::vector<double> five(5, 1.0);
  const Schedule uni = *UnidirectionalGreedySchedule(15, five, {0, 2, 1});
  const Schedule bi = *BidirectionalGreedySchedule(16, five, {0, 2, 1});
  Write("greedy-15",
        ScheduleSvg(uni, "002: unidirectional greedy, 15 machines, 5 segments, 2 and 1: " +
                             Fixed(uni.makespan_s, "%.0f")));
  Write("greedy-16",
        ScheduleSvg(bi, "002: bidirectional greedy, 16 machines, 5 segments, 2 and 1: " +
                            Fixed(bi.makespan_s, "%.0f")));
  std::printf("002 figures: 15 processors %.0f, 16 processors %.0f\n", uni.makespan_s,
              bi.makespan_s);
  struct Row {
    int p;
    double alpha;
  };
  for (const Row row : {Row{12, 0}, {48, 1}, {256, 5}}) {
    const SegmentationResult best = *BestNonuniform(row.p, 10, {row.alpha, 1, 1});
    std::printf("002 segmentation p = %d: uniform %.0f, best %.0f, gain %.2f %%, sizes", row.p,
                best.best_uniform_s, best.best_s, 100 * (best.best_uniform_s / best.best_s - 1));
    for (const auto& sizes : best.best_sizes) {
      std::printf(" (");
      for (double size : sizes) std::printf("%.0f ", size);
      std::printf(")");
    }
    std::printf("\n");
  }
}

// 003: Fig. 8, Table 1, and the worst ratio of slowest-node-first.
void Heterogeneous() {
  std::vector<Seconds> times(8, 1);
  times.insert(times.end(), 3, 1.75);
  const SenderSchedule snf = *SlowestNodeFirst(times);
  const SlotSearchResult best = *SearchSlots(times);
  std::vector<std::int32_t> order(times.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  const SenderSchedule optimum = *EarliestPossible(best.ordered_times, order);
  Write("snf-fig8",
        ScheduleSvg(FromSenders("snf", snf, times, 1),
                    "003, Fig. 8: slowest-node-first, x = 1.75: " + Fixed(snf.makespan_s, "%.2f")));
  Write("optimum-fig8",
        ScheduleSvg(FromSenders("optimum", optimum, best.ordered_times, 1),
                    "003, Fig. 8: optimum, x = 1.75: " + Fixed(optimum.makespan_s, "%.2f")));
  for (double x : {1.25, 1.5, 1.75, 2.0}) {
    std::printf(
        "003 fig8 x = %.2f: snf %.2f optimum %.2f\n", x,
        [&] {
          std::vector<Seconds> t(8, 1);
          t.insert(t.end(), 3, x);
          return SlowestNodeFirst(t)->makespan_s;
        }(),
        ClassOptimumByDp({1, x}, {8, 3})->optimum_s);
  }
  double worst = 1;
  for (const std::vector<Seconds>& speeds : {std::vector<Seconds>{1, 1.5, 2},
                                             {2, 3, 4},
                                             {4, 5, 7},
                                             {5, 6, 7},
                                             {3, 4, 5},
                                             {10, 13, 17}}) {
    for (std::int64_t a = 0; a <= 12; a += 2) {
      for (std::int64_t b = 0; b <= 12; b += 2) {
        for (std::int64_t c = 0; c <= 12; ++c) {
          if (a + b + c == 0) continue;
          std::vector<Seconds> t;
          t.insert(t.end(), static_cast<std::size_t>(a), speeds[0]);
          t.insert(t.end(), static_cast<std::size_t>(b), speeds[1]);
          t.insert(t.end(), static_cast<std::size_t>(c), speeds[2]);
          worst = std::max(worst, SlowestNodeFirst(t)->makespan_s /
                                      ClassOptimumByDp(speeds, {a, b, c})->optimum_s);
        }
      }
    }
  }
  std::printf("003 worst snf / optimum over three-class clusters up to 36 senders: %.4f\n", worst);
  const ClassOptimum table = *ClassOptimumByDp({1, 2}, {150, 150});
  std::printf("003 T(150, 150) with ratio 2 = %.0f, %lld lookups for the whole table\n",
              table.optimum_s, static_cast<long long>(table.lookups));
}

// Winners of the selection with full duplex and overlap.
void RegionMaps() {
  std::vector<HeatMap> maps;
  std::map<std::string, int> wins;
  for (const double gamma : {0.0, 0.5, 2.0}) {
    HeatMap map{"alpha = 10, beta = 1, gamma = " + Fixed(gamma), {}, {}, {}, {}};
    std::vector<double> sizes;
    for (double e = 0; e <= 5; e += 0.5) sizes.push_back(std::round(std::pow(10, e)));
    for (double size : sizes) map.columns.push_back(ShortNumber(size));
    for (int p : {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128}) {
      map.rows.push_back(std::to_string(p));
      map.winner.emplace_back();
      map.label.emplace_back();
      for (double size : sizes) {
        ReductionProblem problem;
        problem.num_machines = p;
        problem.element_units = size;
        problem.costs = {10, 1, gamma};
        problem.max_segments = 256;
        const ReductionChoice choice = *ChooseReduction(problem);
        map.winner.back().push_back(choice.candidates[0].name);
        map.label.back().push_back(std::to_string(choice.candidates[0].num_segments));
        ++wins[choice.candidates[0].name];
      }
    }
    maps.push_back(std::move(map));
  }
  for (const auto& [name, count] : wins)
    std::printf("regions: %s wins %d cells\n", name.c_str(), count);
  Write("regions-overlap",
        HeatMaps("Winners with full duplex and overlap; the number is the segment count",
                 "message size", "machines", maps));
}

// Interleaved and round-optimal schedules over the lower bound.
void OverlapRatios() {
  std::vector<ChartLine> lines;
  double worst_long = 0;
  for (int p : {8, 33, 64}) {
    ChartLine rounds{"round-optimal, p = " + std::to_string(p), {}};
    ChartLine interleaved{"interleaved, p = " + std::to_string(p), {}};
    for (std::int32_t q = 1; q <= 200; q += q < 20 ? 1 : q / 10) {
      const std::vector<double> units(static_cast<std::size_t>(q), 1.0);
      const double bound_s = *OverlapLowerBound(p, q, {1, 1});
      const double a =
          CirculantSchedule(p, units, {0, 1, 1}, {true, true, true})->makespan_s / bound_s;
      const double b =
          InterleavedSchedule(p, units, {0, 1, 1}, {true, true, true})->makespan_s / bound_s;
      rounds.points.push_back({q, a});
      interleaved.points.push_back({q, b});
      if (q >= 80) worst_long = std::max(worst_long, std::min(a, b));
    }
    lines.push_back(std::move(rounds));
    lines.push_back(std::move(interleaved));
  }
  std::printf("overlap: worst min(round-optimal, interleaved) / bound for q >= 80: %.4f\n",
              worst_long);
  Write("overlap-ratios",
        LineChart({"Schedules over the lower bound, d = c = 1", "segments", "ratio", false, 1, 2},
                  lines));
}

void Releases() {
  std::vector<Seconds> release;
  for (int wave = 0; wave < 4; ++wave) release.insert(release.end(), 4, 5.0 * wave);
  const TimedTree tree = *ReleaseDateTree(release, {3, 2});
  Write("release-waves",
        ScheduleSvg(FromTree("reversed greedy", tree, {3, 2}, 1),
                    "Four waves of four machines, 5 apart, d = 3, c = 2: makespan " +
                        Fixed(tree.makespan_s, "%.0f")));
  std::vector<Seconds> many;
  for (int wave = 0; wave < 4; ++wave) many.insert(many.end(), 64, 5.0 * wave);
  double wave_by_wave = 0;
  for (int wave = 0; wave < 4; ++wave) {
    wave_by_wave =
        std::max(wave_by_wave, 5.0 * wave) + GreedyTree(wave == 0 ? 64 : 65, {3, 2})->makespan_s;
  }
  std::printf("releases n = 256: greedy %.0f, bound %.0f, wave by wave %.0f, wait for all %.0f\n",
              ReleaseDateTree(many, {3, 2})->makespan_s, *ReleaseLowerBound(many, {3, 2}),
              wave_by_wave, 15 + GreedyTree(256, {3, 2})->makespan_s);
}

}  // namespace
}  // namespace weir::planner::tree

int main(int argc, char** argv) {
  namespace tree = weir::planner::tree;
  if (argc != 2) {
    std::fprintf(stderr, "usage: planner_tree_figures FOLDER\n");
    return 2;
  }
  tree::folder = argv[1];
  tree::FourElements();
  tree::StrategyRatios();
  tree::SegmentedExample();
  tree::GreedyExamples();
  tree::GreedyRegions();
  tree::Heterogeneous();
  tree::OverlapRatios();
  tree::Releases();
  tree::RegionMaps();
  return 0;
}
