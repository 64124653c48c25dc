// What it is worth to edit a plan for a straggler: one of eight workers computes, or its port
// carries, at a tenth, from the beginning. Times are those of a simulated run in plan order; its
// edits are what the straggler watch asks for and EditPlan makes. Word counts (maps only, nearly)
// and shuffles, with one map step a worker, as plans are made, and with several.
//
// straggler_bench [--json]

#include <cstdio>
#include <cstring>
#include <vector>

#include "planner/plan/predict/predict.h"
#include "tests/bench/bench_program.h"
#include "tests/unit/master/watched_run.h"

namespace weir::bench {
namespace {

using master::Edits;
using master::Heard;

constexpr int kWorkers = 8;
constexpr int kSlow = 3;

bool print_json = false;

void Measure(const char* what, double output_ratio, int maps_each, double map_s, Heard heard) {
  const planner::Plan plan = master::WordCountLike(kWorkers, maps_each, map_s, output_ratio);
  const double planned_s = planner::Predict(plan)->makespan_s;
  planner::Reality reality;
  std::vector<double>& rates = std::strcmp(what, "port") == 0 ? reality.port_rate : reality.rate;
  rates.assign(kWorkers, 1);
  rates[kSlow] = 0.1;
  const master::WatchedRun idle = master::RunWatched(plan, reality, heard, Edits::kNone);
  const master::WatchedRun edited = master::RunWatched(plan, reality, heard, Edits::kTaken);
  const double named_s = edited.named.empty() ? -1 : edited.named[0].at_s;
  const char* said = heard == Heard::kBytes ? "bytes" : "nothing";
  if (print_json) {
    std::printf(
        "{\"slow\": \"%s\", \"output_ratio\": %g, \"maps_each\": %d, \"map_s\": %g, "
        "\"heard\": \"%s\", \"planned_s\": %.4g, \"unedited_s\": %.4g, \"named_s\": %.3g, "
        "\"edits\": %zu, \"edited_s\": %.4g, \"ratio\": %.3f}\n",
        what, output_ratio, maps_each, map_s, said, planned_s, idle.makespan_s, named_s,
        edited.named.size(), edited.makespan_s, edited.makespan_s / planned_s);
  } else {
    std::printf(
        "%-5s output %-4g %2d maps of %5.2f s, heard %-7s  planned %7.2f s  unedited %8.2f s  "
        "named at %6.1f s  %zu edits  %7.2f s  %.2f of planned\n",
        what, output_ratio, maps_each, map_s / maps_each, said, planned_s, idle.makespan_s, named_s,
        edited.named.size(), edited.makespan_s, edited.makespan_s / planned_s);
  }
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::ReadFlags(argc, argv, {{.name = "--json", .given = &weir::bench::print_json}},
                         "straggler_bench [--json]");
  using weir::master::Heard;
  for (const double map_s : {2.0, 10.0, 60.0}) {
    for (const int maps_each : {1, 8}) {
      for (const Heard heard : {Heard::kBytes, Heard::kNothing}) {
        weir::bench::Measure("CPU", 0.01, maps_each, map_s, heard);
      }
      weir::bench::Measure("CPU", 1, maps_each, map_s, Heard::kBytes);
    }
  }
  for (const double map_s : {10.0, 60.0, 300.0}) {
    weir::bench::Measure("port", 1, 1, map_s, Heard::kBytes);
  }
  return 0;
}
