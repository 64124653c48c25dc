// Data of figures 5 to 12 of 004 and Gantt pictures of planned layers, as JSON on stdout.
// load_figures.py draws them.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "planner/explain/explain.h"
#include "planner/load/chain.h"
#include "planner/load/fast_layer.h"
#include "planner/plan/predict/predict.h"
#include "tests/unit/planner_load/plan_of_layer.h"
#include "tests/unit/planner_load/reference_chain.h"

namespace weir::bench {
namespace {

using namespace planner;        // NOLINT: a program of its own
using namespace planner::load;  // NOLINT

struct Series {
  std::string name;
  std::vector<double> x, y;
};

bool first_figure = true;

void Print(const char* id, const char* title, const char* x_label, const char* y_label,
           const std::vector<Series>& series) {
  std::printf(
      "%s\n  {\"id\": \"%s\", \"title\": \"%s\", \"x_label\": \"%s\", \"y_label\": \"%s\", "
      "\"series\": [",
      first_figure ? "" : ",", id, title, x_label, y_label);
  first_figure = false;
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::printf("%s\n    {\"name\": \"%s\", \"points\": [", i == 0 ? "" : ",",
                series[i].name.c_str());
    for (std::size_t p = 0; p < series[i].x.size(); ++p) {
      std::printf("%s[%.9g, %.9g]", p == 0 ? "" : ", ", series[i].x[p], series[i].y[p]);
    }
    std::printf("]}");
  }
  std::printf("]}");
}

/// Shares of a layer relative to equal ones, against the sender's number.
Series RelativeShares(const std::string& name, const LayerSolution& layer) {
  Series series{name, {}, {}};
  for (std::size_t k = 0; k < layer.share.size(); ++k) {
    series.x.push_back(static_cast<double>(k + 1));
    series.y.push_back(layer.share[k] * static_cast<double>(layer.share.size()));
  }
  return series;
}

std::string CName(double c) {
  char text[32];
  std::snprintf(text, sizeof text, "C = %.0e", c);
  return text;
}

ChainSolution Solve(const Chain& chain) { return *SolveLayerByLayer(chain, LayerMethod::kExact); }

void Speedups() {
  for (const bool mappers : {true, false}) {
    std::vector<Series> all;
    for (const double g0 : {1e-3, 1.0}) {
      for (const double g1 : {1e-3, 1.0}) {
        const auto time = [&](std::int32_t m, std::int32_t r1, std::int32_t r2) {
          Chain chain = ReferenceChain();
          chain.map_output_ratio = g0;
          chain.reducers[0].output_ratio = g1;
          chain.reducers[1].output_ratio = 1;
          chain.num_mappers = m;
          chain.reducers[0].num_reducers = r1;
          chain.reducers[1].num_reducers = r2;
          chain.channels = std::max({m, r1, r2});
          return Solve(chain).makespan_s;
        };
        const double alone = time(1, 1, 1);
        char name[48];
        std::snprintf(name, sizeof name, "g0 = %g, g1 = %g", g0, g1);
        Series series{name, {}, {}};
        for (const std::int32_t count : {1, 2, 5, 10, 20, 30, 40, 50}) {
          series.x.push_back(count);
          series.y.push_back(alone / (mappers ? time(count, 5, 5) : time(5, count, 5)));
        }
        all.push_back(std::move(series));
      }
    }
    Print(mappers ? "5a" : "5b", "Speedup", mappers ? "mappers m" : "reducers r1", "speedup", all);
  }
}

void ReducerFigures() {
  const std::vector<double> fast{1e-10, 1e-9, 1e-8, 1e-7}, slow{1e-6, 1e-5, 1e-4};
  for (const bool slow_network : {false, true}) {
    std::vector<Series> last, first, four;
    for (const double c : slow_network ? slow : fast) {
      Chain chain = ReferenceChain();
      chain.channel_seconds_per_byte = c;
      chain.reducers[0].num_reducers = 10;
      const ChainSolution five = Solve(chain);
      last.push_back(RelativeShares(CName(c), five.layers[2]));
      first.push_back(RelativeShares(CName(c), five.layers[1]));
      chain.reducers[1].num_reducers = 4;
      four.push_back(RelativeShares(CName(c), Solve(chain).layers[1]));
    }
    Print(slow_network ? "6b" : "6a", "Last layer of reducers, r2 = 5", "reducer",
          "share / equal share", last);
    Print(slow_network ? "7b" : "7a", "First layer of reducers, r1 = 10, r2 = 5", "reducer",
          "share / equal share", first);
    Print(slow_network ? "8b" : "8a", "First layer of reducers, r1 = 10, r2 = 4", "reducer",
          "share / equal share", four);
  }
  for (const bool divides : {true, false}) {
    std::vector<Series> series;
    for (const std::int32_t l :
         divides ? std::vector<std::int32_t>{1, 2, 5} : std::vector<std::int32_t>{3, 4}) {
      Chain chain = ReferenceChain();
      chain.reducers[0].num_reducers = 10;
      chain.channels = l;
      series.push_back(RelativeShares("l = " + std::to_string(l), Solve(chain).layers[1]));
    }
    Print(divides ? "9a" : "9b", "First layer of reducers, C = 1E-8", "reducer",
          "share / equal share", series);
  }
}

void MapperFigures() {
  for (const double startup : {1.0, 1e4}) {
    const bool small = startup == 1;
    for (const bool slow_network : {false, true}) {
      std::vector<Series> series;
      for (const double c : slow_network ? std::vector<double>{1e-7, 1e-6, 1e-5}
                                         : std::vector<double>{1e-10, 1e-9, 1e-8}) {
        Chain chain = ReferenceChain();
        chain.num_mappers = 50;
        chain.map_startup_s = startup;
        chain.channel_seconds_per_byte = c;
        series.push_back(RelativeShares(CName(c), Solve(chain).layers[0]));
      }
      const char* id =
          small ? (slow_network ? "10a-slow" : "10a-fast") : (slow_network ? "11b" : "11a");
      Print(id, small ? "Mappers, S = 1" : "Mappers, S = 1E4", "mapper", "load / equal load",
            series);
    }
    for (const bool divides : {true, false}) {
      std::vector<Series> series;
      for (const std::int32_t l :
           divides ? std::vector<std::int32_t>{1, 2, 5} : std::vector<std::int32_t>{3, 4}) {
        Chain chain = ReferenceChain();
        chain.num_mappers = 50;
        chain.map_startup_s = startup;
        chain.channels = l;
        series.push_back(RelativeShares("l = " + std::to_string(l), Solve(chain).layers[0]));
      }
      const char* id = small ? (divides ? "10b-divides" : "10b-rest") : (divides ? "12a" : "12b");
      Print(id, small ? "Mappers, S = 1, C = 1E-8" : "Mappers, S = 1E4, C = 1E-8", "mapper",
            "load / equal load", series);
    }
  }
}

/// A layer of ten senders and five receivers with five channels, drawn.
void Gantt(const char* name, LayerKind kind, const char* title) {
  Layer layer;
  layer.kind = kind;
  layer.num_senders = 10;
  layer.channels = 5;
  layer.load_bytes = static_cast<double>(kPlannedBytes);
  layer.channel_seconds_per_byte = 3e-13;
  layer.output_ratio = 1;
  layer.compute = ComputeFunction::Linear(1e-12, 0);
  layer.mapper_startup_s = kind == LayerKind::kMapper ? 0.6 : 0;
  layer.next_fractions.assign(5, 0.2);
  const ScaledLayer scaled = *ScaleLayer(layer);
  const ScaledLoads loads = FastLoads(scaled);
  ScheduleOptions options;
  options.pieces_per_pair_max = 20;
  const LayerSchedule schedule = *ScheduleLayer(scaled, loads.share, options);
  const Plan plan = *PlanOfLayer(layer, loads.share, DraftPieces(schedule, scaled.time_unit_s, 0));
  ExplainOptions explain;
  explain.title = title;
  for (int j = 1; j <= 10; ++j) explain.worker_names.push_back("sender " + std::to_string(j));
  for (int k = 1; k <= 5; ++k) explain.worker_names.push_back("receiver " + std::to_string(k));
  const std::string svg = GanttSvg(plan, *Predict(plan), nullptr, explain);
  std::printf("%s\n  {\"name\": \"%s\", \"svg\": \"", kind == LayerKind::kMapper ? "" : ",", name);
  for (const char character : svg) {
    if (character == '\n') {
      std::printf("\\n");
    } else if (character == '"' || character == '\\') {
      std::printf("\\%c", character);
    } else {
      std::putchar(character);
    }
  }
  std::printf("\"}");
}

}  // namespace
}  // namespace weir::bench

int main() {
  std::printf("{\"figures\": [");
  weir::bench::Speedups();
  weir::bench::ReducerFigures();
  weir::bench::MapperFigures();
  std::printf("],\n\"gantts\": [");
  weir::bench::Gantt("gantt-mappers", weir::planner::load::LayerKind::kMapper,
                     "Ten mappers, five reducers, l = 5: groups of five, saw-tooth inside each");
  weir::bench::Gantt("gantt-reducers", weir::planner::load::LayerKind::kReducer,
                     "Ten reducers, five receivers, l = 5: two groups of five");
  std::printf("]}\n");
  return 0;
}
