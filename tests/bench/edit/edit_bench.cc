// What planning an edit costs the master: one shuffle of all workers with all, stopped while maps
// run, while sections move and while reduce steps run; one worker is lost.
//
// edit_bench [--repeats N] [--json]      8, 64 and 200 workers, the least of 3 repeats

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "planner/edit/check_edit.h"
#include "planner/edit/edit_plan.h"
#include "planner/job/builders/plan_job.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "tests/bench/bench_program.h"
#include "tests/unit/planner_edit/progress_of.h"

namespace weir::bench {
namespace {

using planner::At;

bool print_json = false;
int repeats = 3;

/// Every worker maps 64 MB and sends a part of it to every other one over links of 1 Gbit/s.
planner::Plan Shuffle(std::int32_t num_workers) {
  planner::JobShape shape;
  shape.input_bytes = std::int64_t{num_workers} * 64'000'000;
  shape.map_seconds_per_byte.value = 1e-7;
  shape.map_output_ratio.value = 1;
  planner::LayerShape layer;
  layer.reduce_seconds_per_byte.value = 2e-8;
  shape.layers = {layer};
  planner::ClusterProfile cluster;
  cluster.workers.resize(At(num_workers));
  cluster.network = planner::LimitedTotal(num_workers, 1 / 1.25e8, std::max(1, num_workers / 2));
  cluster.network.latency_s = 1e-3;
  absl::StatusOr<planner::Plan> plan =
      planner::PlanJob(shape, cluster, {planner::PlanMethod::kEven});
  if (!plan.ok()) {
    std::fprintf(stderr, "cannot plan: %s\n", plan.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(plan);
}

void Measure(std::int32_t num_workers) {
  const planner::Plan plan = Shuffle(num_workers);
  const planner::Prediction prediction = *planner::Predict(plan);
  planner::Seconds maps_end_s = 0, transfers_end_s = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].layer == 0) {
      maps_end_s = std::max(maps_end_s, prediction.steps[s].finish_s);
    }
  }
  for (const planner::Interval& transfer : prediction.transfers) {
    transfers_end_s = std::max(transfers_end_s, transfer.finish_s);
  }
  const std::pair<const char*, planner::Seconds> moments[] = {
      {"maps run", maps_end_s / 2},
      {"sections move", (maps_end_s + transfers_end_s) / 2},
      {"reduce steps run", (transfers_end_s + prediction.makespan_s) / 2}};
  for (const auto& [what, moment_s] : moments) {
    const planner::PlanState state = planner::ProgressOf(
        plan, prediction, planner::NothingDone(plan), moment_s, planner::RunsStay::kToTheEnd);
    const planner::PlanChange change{.lost = {num_workers / 2}};
    absl::StatusOr<planner::PlanEdit> edit;
    double least_s = 1e9;
    for (int i = 0; i < repeats; ++i) {
      least_s =
          std::min(least_s, SecondsOf([&] { edit = planner::EditPlan(plan, state, change); }));
    }
    absl::Status checked = edit.status();
    const double check_s = SecondsOf([&] {
      if (checked.ok()) checked = planner::CheckEdit(plan, state, change, *edit);
    });
    if (!checked.ok()) {
      std::fprintf(stderr, "wrong edit: %s\n", checked.ToString().c_str());
      std::exit(1);
    }
    const double planned_s = prediction.makespan_s, edited_s = edit->prediction.makespan_s;
    if (print_json) {
      std::printf(
          "{\"workers\": %d, \"lost_while\": \"%s\", \"edit_s\": %.6f, \"check_s\": %.6f, "
          "\"planned_s\": %.6g, \"lost_at_s\": %.6g, \"edited_s\": %.6g}\n",
          num_workers, what, least_s, check_s, planned_s, moment_s, edited_s);
    } else {
      std::printf(
          "%4d workers, %-17s edit %9.3f ms  check %9.3f ms  ends %8.3f s, planned %8.3f s\n",
          num_workers, what, least_s * 1e3, check_s * 1e3, edited_s, planned_s);
    }
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  namespace bench = weir::bench;
  bench::ReadFlags(argc, argv,
                   {{.name = "--json", .given = &bench::print_json},
                    {.name = "--repeats", .number = &bench::repeats}},
                   "edit_bench [--repeats N] [--json]");
  for (const int workers : {8, 64, 200}) bench::Measure(workers);
  return 0;
}
