// What an order is worth on paper between hosts, racks and pods: a shuffle of all hosts with all,
// planned (as jobs are), with every receiver fetching from all senders at once, and with every
// receiver fetching from five at a time. Predicted makespans over OrderBound, all in one run.
//
// Model: nobody is paced, and what is not ordered shares ports and cuts max-min fairly and loses
// nothing, so that only who moves when makes a difference. Real queues lose by it
// (docs/benchmarks/network.md, network laboratory). Above 3000 transfers the prediction of what is
// not ordered takes ends together that are close (fetch_all.h), at the later one: with five at a
// time each fetch may wait for that, so it errs to the long side, by 11 % at most with 256 hosts
// and by more with 500.
//
// level_bench [--workers N] [--json] [--check]     64, 128, 256 and 500 hosts; --check: status 1
// where the plan is further from the bound than 3 %, or over 1 % slower than five at a time

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "planner/order/order_bound.h"
#include "planner/order/order_by_slack.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "tests/bench/bench_program.h"
#include "tests/bench/order/shuffle_instances.h"

namespace weir::bench {
namespace {

using planner::Plan;
using planner::Seconds;

constexpr double kBoundBar = 1.03;
constexpr double kUnplannedBar = 1.01;
constexpr std::int32_t kFewFetches = 5;

struct Options {
  int num_workers = 0;  // 0: all sizes
  bool json = false;
  bool check = false;
};

/// Makespan over bound of the shuffle in this order.
double RatioOf(const Plan& shuffle, Seconds bound_s, const auto& order) {
  Plan plan = shuffle;
  absl::Status status = order(&plan);
  if (status.ok()) status = planner::CheckPlan(plan);
  if (!status.ok()) {
    std::fprintf(stderr, "no plan: %s\n", status.ToString().c_str());
    std::exit(1);
  }
  return plan.summary.makespan_s / bound_s;
}

/// Returns whether the plan keeps to its bars.
bool Measure(const Options& options, const Instance& instance) {
  const Seconds bound_s = *planner::OrderBound(instance.plan);
  const double planned = RatioOf(instance.plan, bound_s, [&](Plan* plan) {
    return planner::OrderBySlack(plan, planner::SlackWorkFor(*plan, bound_s));
  });
  const double all =
      RatioOf(instance.plan, bound_s, [](Plan* plan) { return planner::OrderFetchAll(plan); });
  const double few = RatioOf(instance.plan, bound_s,
                             [](Plan* plan) { return planner::OrderFetchAll(plan, kFewFetches); });
  const bool kept = planned <= kBoundBar && planned <= kUnplannedBar * few;
  std::printf(
      options.json
          ? "{\"workers\": %d, \"network\": \"%s\", \"sections\": \"%s\", \"maps\": \"%s\", "
            "\"transfers\": %zu, \"bound_s\": %.5g, \"planned\": %.4f, \"fetch_all\": %.4f, "
            "\"fetch_5\": %.4f, \"within_bars\": %s}\n"
          : "%3d hosts, %-9s %-7s %-8s %6zu transfers, bound %8.5g s: planned %.4f, fetch-all "
            "%.4f, fetch-5 %.4f%s\n",
      instance.plan.network.num_workers, instance.network.c_str(), instance.sections.c_str(),
      instance.maps.c_str(), instance.plan.transfers.size(), bound_s, planned, all, few,
      options.json ? (kept ? "true" : "false") : (kept ? "" : "  BEYOND ITS BAR"));
  std::fflush(stdout);
  return kept;
}

bool MeasureAll(const Options& options) {
  std::vector<std::int32_t> sizes = {64, 128, 256, 500};
  if (options.num_workers > 0) sizes = {options.num_workers};
  const auto measure = [&options](const Instance& one) { return Measure(options, one); };
  bool kept = true;
  for (const std::int32_t n : sizes) {
    // Of the ports below it, what the way out of a rack carries, and that of a pod.
    for (const auto& [network, model] : {std::pair("1:2, 1:4", ThreeLevels(n, 2, 4)),
                                         std::pair("1:4, 1:16", ThreeLevels(n, 4, 16))}) {
      kept = MeasureShuffles(network, model, measure) && kept;
    }
  }
  return kept;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  namespace bench = weir::bench;
  bench::Options options;
  bench::ReadFlags(argc, argv,
                   {{.name = "--json", .given = &options.json},
                    {.name = "--check", .given = &options.check},
                    {.name = "--workers", .number = &options.num_workers, .least = 8}},
                   "level_bench [--workers N] [--json] [--check]");
  const bool kept = bench::MeasureAll(options);
  return options.check && !kept ? 1 : 0;
}
