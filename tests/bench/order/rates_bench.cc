// What rates over time are worth on paper, and what they take to plan: shuffles of all hosts with
// all, by rates that stay and by rates that change, mappers ending at once and in waves. Predicted
// makespans over OrderBound, and seconds of planning, all in one run.
//
// rates_bench [--workers N] [--json]     8, 16, 32 and 64 hosts

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "planner/order/order_bound.h"
#include "planner/order/order_by_rates.h"
#include "planner/plan/check_plan.h"
#include "tests/bench/bench_program.h"
#include "tests/bench/order/shuffle_instances.h"

namespace weir::bench {
namespace {

using planner::Plan;

struct Options {
  int num_workers = 0;  // 0: all sizes
  bool json = false;
};

struct Rated {
  double seconds = 0;   // to plan
  double makespan = 0;  // over the bound
};

Rated RateBy(const Plan& shuffle, double bound_s, absl::Status (*rate)(Plan*)) {
  Plan plan = shuffle;
  absl::Status status;
  Rated rated;
  rated.seconds = SecondsOf([&] { status = rate(&plan); });
  if (status.ok()) status = planner::CheckPlan(plan);
  if (!status.ok()) {
    std::fprintf(stderr, "no plan: %s\n", status.ToString().c_str());
    std::exit(1);
  }
  rated.makespan = plan.summary.makespan_s / bound_s;
  return rated;
}

bool Measure(const Options& options, const Instance& instance) {
  const double bound_s = *planner::OrderBound(instance.plan);
  const Rated stay = RateBy(instance.plan, bound_s, planner::OrderByRates);
  const Rated over_time = RateBy(instance.plan, bound_s, planner::OrderByRatesOverTime);
  std::printf(
      options.json
          ? "{\"workers\": %d, \"network\": \"%s\", \"sections\": \"%s\", \"maps\": \"%s\", "
            "\"transfers\": %zu, \"rates\": %.4f, \"rates_s\": %.3g, \"over_time\": %.4f, "
            "\"over_time_s\": %.3g}\n"
          : "%3d hosts, %-9s %-7s %-8s %5zu transfers: rates %.4f (%.3g s to plan), over time "
            "%.4f (%.3g s)\n",
      instance.plan.network.num_workers, instance.network.c_str(), instance.sections.c_str(),
      instance.maps.c_str(), instance.plan.transfers.size(), stay.makespan, stay.seconds,
      over_time.makespan, over_time.seconds);
  std::fflush(stdout);
  return true;
}

void MeasureAll(const Options& options) {
  std::vector<std::int32_t> sizes = {8, 16, 32, 64};
  if (options.num_workers > 0) sizes = {options.num_workers};
  const auto measure = [&options](const Instance& one) { return Measure(options, one); };
  for (const std::int32_t n : sizes) {
    for (const auto& [network, model] :
         {std::pair("ports", PortsOnly(n)), std::pair("total", OneTotal(n)),
          std::pair("racks", Racks(n))}) {
      MeasureShuffles(network, model, measure);
    }
  }
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  namespace bench = weir::bench;
  bench::Options options;
  bench::ReadFlags(argc, argv,
                   {{.name = "--json", .given = &options.json},
                    {.name = "--workers", .number = &options.num_workers, .least = 4}},
                   "rates_bench [--workers N] [--json]");
  bench::MeasureAll(options);
  return 0;
}
