// How far from its bound the order of a shuffle is, and how long it takes to find: all workers to
// all, by sections (equal, a skewed key, random), networks (ports only, one limited total, racks)
// and ends of the mappers (at once, in waves). Each is ordered by the list rule and as jobs are
// (OrderBySlack); ratios are predicted makespan over OrderBound, both in the same run. Seconds are
// CPU seconds of the orders alone.
//
// order_bench [--workers N] [--json] [--check]     16, 64, 128 and 500 workers; --check: status 1
// where the order of a job is further from the bound, or takes longer, than the bars say

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "planner/order/order_bound.h"
#include "planner/order/order_by_slack.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/units.h"
#include "tests/bench/bench_program.h"
#include "tests/bench/order/shuffle_instances.h"

namespace weir::bench {
namespace {

using planner::Plan;
using planner::Seconds;

/// Bars of --check: predicted over bound, and CPU seconds. Fewer workers have none: their plans are
/// matched, and what is left is mostly the bound's.
struct Bar {
  std::int32_t workers_min = 0;
  std::int32_t workers_max = 0;
  double ratio = 0;
  double seconds = 0;
};
constexpr std::array<Bar, 2> kBars = {{{17, 64, 1.01, 0.2}, {65, 500, 1.03, 5}}};

struct Options {
  int num_workers = 0;  // 0: all sizes
  bool json = false;
  bool check = false;
};

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Ordered {
  double ratio = 0;
  double seconds = 0;
  std::size_t transfers = 0;
};

Ordered Order(const Plan& shuffle, Seconds bound_s, const auto& order) {
  Plan plan = shuffle;
  const double begin_s = CpuSeconds();
  absl::Status status = order(&plan);
  Ordered ordered{0, CpuSeconds() - begin_s, plan.transfers.size()};
  if (status.ok()) status = planner::CheckPlan(plan);
  if (!status.ok()) {
    std::fprintf(stderr, "no plan: %s\n", status.ToString().c_str());
    std::exit(1);
  }
  ordered.ratio = plan.summary.makespan_s / bound_s;
  return ordered;
}

/// Returns whether the order of a job keeps to its bar.
bool Measure(const Options& options, const Instance& instance) {
  const Seconds bound_s = *planner::OrderBound(instance.plan);
  const Ordered list =
      Order(instance.plan, bound_s, [](Plan* plan) { return planner::OrderByPriority(plan); });
  const Ordered slack = Order(instance.plan, bound_s, [&](Plan* plan) {
    return planner::OrderBySlack(plan, planner::SlackWorkFor(*plan, bound_s));
  });
  const std::int32_t n = instance.plan.network.num_workers;
  bool kept = true;
  for (const Bar& bar : kBars) {
    if (n < bar.workers_min || n > bar.workers_max) continue;
    kept = slack.ratio <= bar.ratio && slack.seconds <= bar.seconds;
    break;
  }
  std::printf(
      options.json
          ? "{\"workers\": %d, \"network\": \"%s\", \"sections\": \"%s\", \"maps\": \"%s\", "
            "\"transfers\": %zu, \"bound_s\": %.5g, \"list_ratio\": %.4f, "
            "\"list_seconds\": %.3g, \"job_transfers\": %zu, \"job_ratio\": %.4f, "
            "\"job_seconds\": %.3g, \"within_bars\": %s}\n"
          : "%3d workers, %-10s %-7s %-8s %6zu transfers, bound %8.5g s: list %.4f in "
            "%.3g s; of a job (%zu transfers) %.4f in %.3g s%s\n",
      n, instance.network.c_str(), instance.sections.c_str(), instance.maps.c_str(),
      instance.plan.transfers.size(), bound_s, list.ratio, list.seconds, slack.transfers,
      slack.ratio, slack.seconds,
      options.json ? (kept ? "true" : "false") : (kept ? "" : "  BEYOND ITS BAR"));
  std::fflush(stdout);
  return kept;
}

bool MeasureAll(const Options& options) {
  std::vector<std::int32_t> sizes = {16, 64, 128, 500};
  if (options.num_workers > 0) sizes = {options.num_workers};
  const auto measure = [&options](const Instance& one) { return Measure(options, one); };
  bool kept = true;
  for (const std::int32_t n : sizes) {
    for (const auto& [network, model] :
         {std::pair("ports only", PortsOnly(n)), std::pair("one total", OneTotal(n)),
          std::pair("racks", Racks(n))}) {
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
                   "order_bench [--workers N] [--json] [--check]");
  const bool kept = bench::MeasureAll(options);
  return options.check && !kept ? 1 : 0;
}
