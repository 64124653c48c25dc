// One table of the load planner's targets: the source's program by three solvers beside ours; ours
// at large sizes; the decomposition of a window, the source's beside the event-driven one; whole
// communication schedules; memory. Exits 1 when a target is missed, and says which on stderr.
//
// planner_load_bench [--json] [--seconds-max S]     solvers are stopped after S seconds (default
// 60)

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "planner/load/fast_layer.h"
#include "planner/load/matching_schedule.h"
#include "planner/load/schedule_layer.h"
#include "planner/load/solve_layer.h"
#include "planner/load/source_decomposition.h"
#include "planner/load/source_program.h"
#include "tests/bench/bench_program.h"
#include "tests/bench/load/reference_solvers.h"
#include "tests/unit/planner_load/section_five_layer.h"

namespace weir::bench {
namespace {

using namespace planner::load;  // NOLINT: a program of its own

bool print_json = false;
int seconds_max = 60;
int targets_missed = 0;

// Where other work shares the machine, times are missed that would be met alone.
void Target(const std::string& what, double value, double most, const char* unit) {
  if (value <= most) return;
  ++targets_missed;
  std::fprintf(stderr, "target missed: %s: %.3g %s, at most %.3g\n", what.c_str(), value, unit,
               most);
}

void Row(const std::string& what, const std::string& who, double seconds,
         const std::string& result) {
  if (print_json) {
    std::printf("{\"bench\": \"%s\", \"by\": \"%s\", \"seconds\": %.9g, \"result\": \"%s\"}\n",
                what.c_str(), who.c_str(), seconds, result.c_str());
  } else {
    std::printf("%-44s %-18s %14.6f s  %s\n", what.c_str(), who.c_str(), seconds, result.c_str());
  }
  std::fflush(stdout);
}

/// Least of several runs, for what takes microseconds.
double LeastSecondsOf(const std::function<void()>& work) {
  double least = SecondsOf(work);
  for (int run = 0; run < 20 && least < 0.05; ++run) least = std::min(least, SecondsOf(work));
  return least;
}

std::string Text(const char* format, double a, double b = 0) {
  char text[160];
  std::snprintf(text, sizeof text, format, a, b);
  return text;
}

void CompareSolvers() {
  for (const LayerKind kind : {LayerKind::kMapper, LayerKind::kReducer}) {
    for (const std::int32_t n : {5, 10, 20, 30}) {
      const Layer layer = SectionFiveLayer(kind, n, false);
      const ScaledLayer scaled = *ScaleLayer(layer);
      const LinearProgram program = BuildSourceProgram(scaled);
      const std::string what =
          std::string(LayerKindName(kind)) + " program, m = r = " + std::to_string(n);
      absl::StatusOr<LayerSolution> ours;
      const double ours_s = LeastSecondsOf([&] { ours = SolveLayer(layer, LayerMethod::kExact); });
      const double optimum = ours->makespan_s / scaled.time_unit_s;
      const auto report = [&](const char* who, double seconds, bool optimal, double objective) {
        Row(what, who, seconds,
            optimal ? Text("differs %.1e, %.0f times ours", std::abs(objective / optimum - 1),
                           seconds / ours_s)
                    : Text("not solved in %.0f s", seconds_max));
        if (optimal) Target(what + " by " + who, std::abs(objective / optimum - 1), 1e-7, "apart");
      };
      ReferenceResult reference;
      const double lp_solve_s =
          SecondsOf([&] { reference = SolveByLpSolve(program, seconds_max); });
      report("lp_solve", lp_solve_s, reference.optimal, reference.objective);
      if (n == 20)
        Target(what + ", ours", 1000 * ours_s / lp_solve_s, 1, "thousandths of lp_solve");
      const double glpk_s = SecondsOf([&] { reference = SolveByGlpk(program, seconds_max); });
      report("GLPK", glpk_s, reference.optimal, reference.objective);
      absl::StatusOr<ProgramSolution> clp;
      const double clp_s = SecondsOf([&] { clp = SolveLinearProgram(program); });
      report("Clp", clp_s, clp.ok(), clp.ok() ? clp->objective : 0);
      Row(what, "ours, exact", ours_s, Text("gap %.1e", ours->gap));
      const double fast_s = LeastSecondsOf([&] { ours = SolveLayer(layer, LayerMethod::kFast); });
      Row(what, "ours, fast", fast_s, Text("gap %.1e", ours->gap));
      Target(what + ", ours, fast", ours->gap, 1e-3, "of gap");
    }
  }
}

void LargeLayers() {
  for (const LayerKind kind : {LayerKind::kMapper, LayerKind::kReducer}) {
    for (const std::int32_t n : {100, 1000, 10000}) {
      for (const bool equal : {true, false}) {
        const Layer layer = SectionFiveLayer(kind, n, equal);
        absl::StatusOr<LayerSolution> solution;
        const double seconds =
            LeastSecondsOf([&] { solution = SolveLayer(layer, LayerMethod::kFast); });
        const std::string what = std::string(LayerKindName(kind)) +
                                 ", n = r = " + std::to_string(n) +
                                 (equal ? ", equal" : ", unequal");
        Row(what, "ours, fast", seconds,
            solution.ok() ? Text("gap %.1e", solution->gap) : solution.status().ToString());
        if (n == 1000) Target(what, seconds, equal ? 0.01 : 0.05, "s");
        if (n == 10000) Target(what, seconds, 2, "s");
        Target(what, solution.ok() ? solution->gap : 1, 1e-3, "of gap");
      }
    }
  }
}

std::vector<std::vector<double>> DenseDemand(int n) {
  std::mt19937_64 engine(7);
  std::uniform_real_distribution<double> time(0, 1);
  std::vector<std::vector<double>> demand(static_cast<std::size_t>(n),
                                          std::vector<double>(static_cast<std::size_t>(n)));
  for (auto& row : demand) {
    for (double& cell : row) cell = time(engine);
  }
  return demand;
}

void Decompositions() {
  for (const int n : {20, 50, 100}) {
    const auto demand = DenseDemand(n);
    const std::int32_t channels = 2 * n / 3;
    const double window = WindowNeeded(demand, channels);
    const std::string what = "window, " + std::to_string(n) + " x " + std::to_string(n);
    absl::StatusOr<std::vector<Piece>> pieces;
    const double event_s =
        LeastSecondsOf([&] { pieces = MatchingSchedule(demand, 0, window, channels); });
    Row(what, "event-driven", event_s,
        Text("%.2f pieces a pair", static_cast<double>(pieces->size()) / n / n));
    const double naive_s =
        SecondsOf([&] { pieces = SourceDecomposition(demand, 0, window, channels); });
    Row(what, "source, 4.3", naive_s,
        pieces.ok() ? Text("%.2f pieces a pair, %.0f times ours",
                           static_cast<double>(pieces->size()) / n / n, naive_s / event_s)
                    : pieces.status().ToString());
  }
}

void Schedules() {
  for (const LayerKind kind : {LayerKind::kMapper, LayerKind::kReducer}) {
    for (const std::int32_t n : {100, 1000}) {
      for (const bool equal : {true, false}) {
        const ScaledLayer scaled = *ScaleLayer(SectionFiveLayer(kind, n, equal));
        const ScaledLoads loads = FastLoads(scaled);
        absl::StatusOr<LayerSchedule> schedule;
        const double seconds =
            SecondsOf([&] { schedule = ScheduleLayer(scaled, loads.share, {}); });
        const std::string what = std::string(LayerKindName(kind)) + " schedule, " +
                                 std::to_string(n) + " x " + std::to_string(n) +
                                 (equal ? ", equal" : ", unequal");
        Row(what, schedule.ok() ? schedule->method : "failed", seconds,
            schedule.ok() ? Text("%.2f pieces a pair, %.1e above the bound",
                                 static_cast<double>(schedule->pieces.size()) / n / n,
                                 schedule->makespan / loads.bound - 1)
                          : schedule.status().ToString());
        Target(what, seconds, n == 100 ? 0.02 : 10, "s");
        const double pieces = schedule.ok() ? static_cast<double>(schedule->pieces.size()) : 1e9;
        Target(what, pieces / n / n, 2.1, "pieces a pair");
      }
    }
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Row("largest memory of this program", "all of the above", 0,
      Text("%.0f MiB", static_cast<double>(usage.ru_maxrss) / 1024));
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  namespace bench = weir::bench;
  bench::ReadFlags(argc, argv,
                   {{.name = "--json", .given = &bench::print_json},
                    {.name = "--seconds-max", .number = &bench::seconds_max, .least = 0}},
                   "planner_load_bench [--json] [--seconds-max S]");
  bench::LargeLayers();
  bench::Schedules();
  bench::Decompositions();
  bench::CompareSolvers();
  return bench::targets_missed == 0 ? 0 : 1;
}
