// What the conductor costs the master: one shuffle of all workers with all, run from its first
// order to its last under virtual time, once as planned and once with one straggler of each kind.
// Seconds are those inside the conductor; the last column is the ratio to the run as planned of the
// same network, in the same process.
//
// conduct_bench [--workers N] [--repeats N] [--json]      500 workers, the least of 3 repeats

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "tests/bench/bench_program.h"
#include "tests/bench/conduct/conducted_shuffle.h"

namespace weir::bench {
namespace {

double SecondsInside(const planner::Plan& plan, const planner::Prediction& prediction,
                     const Reality& reality) {
  ConductedShuffle run(plan, prediction, reality);
  run.Run();
  return run.turns().all_s;
}

struct Options {
  std::int32_t num_workers = 500;
  int repeats = 1;
  bool json = false;
};

void Measure(const Options& options, const std::string& network, std::int32_t channels) {
  const planner::Plan plan = Shuffle(options.num_workers, channels);
  const absl::StatusOr<planner::Prediction> prediction = planner::Predict(plan);
  if (!prediction.ok()) std::exit(1);
  double as_planned_s = 0;
  for (const auto& [name, reality] : Realities(*prediction)) {
    double least_s = SecondsInside(plan, *prediction, reality);
    for (int repeat = 1; repeat < options.repeats; ++repeat) {
      least_s = std::min(least_s, SecondsInside(plan, *prediction, reality));
    }
    if (as_planned_s == 0) as_planned_s = least_s;
    const double us = least_s * 1e6 / static_cast<double>(plan.transfers.size());
    const double ratio = least_s / as_planned_s;
    if (options.json) {
      std::printf(
          "{\"network\": \"%s\", \"run\": \"%s\", \"transfers\": %zu, \"seconds\": %.4g, "
          "\"us_per_transfer\": %.4g, \"ratio\": %.4g}\n",
          network.c_str(), name, plan.transfers.size(), least_s, us, ratio);
    } else {
      std::printf("%-16s %-36s %8zu transfers %9.3f s %8.2f us each %7.2f\n", network.c_str(), name,
                  plan.transfers.size(), least_s, us, ratio);
    }
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  namespace bench = weir::bench;
  bench::Options options;
  bench::ReadFlags(argc, argv,
                   {{.name = "--json", .given = &options.json},
                    {.name = "--workers", .number = &options.num_workers, .least = 2},
                    {.name = "--repeats", .number = &options.repeats}},
                   "conduct_bench [--workers N] [--repeats N] [--json]");
  bench::Measure(options, "ports only", 0);
  bench::Measure(options, "a fifth at once", options.num_workers / 5);
  return 0;
}
