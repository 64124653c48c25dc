// How long the master's control loop is held: one shuffle of all workers with all under virtual
// time, as planned and with one straggler of each kind. Every half second the straggler watch looks
// at it, in two ways in the same run: told what moved on since the last look, and ("scan") with the
// state of the whole plan each time; both must decide the same. Beside it, the turns of the
// conductor itself. CPU milliseconds, the least of the repeats.
//
// turn_bench [--workers N] [--channels N] [--repeats N] [--json] [--check]     500 workers, 1
// repeat;
// --channels: what the network carries at once, 0: ports only; without it ports only, and then a
// fifth of the workers at once; --check: status 1 where a look or a turn takes more than 5 ms

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/plan/units.h"
#include "runtime/master/stragglers/straggler_watch.h"
#include "runtime/master/stragglers/watched_state.h"
#include "tests/bench/bench_program.h"
#include "tests/bench/conduct/conducted_shuffle.h"

namespace weir::bench {
namespace {

constexpr double kLongestTurnS = 5e-3;

struct Options {
  int num_workers = 500;
  int num_channels = -1;  // 0: ports only; -1: that, and a fifth of the workers
  int repeats = 1;
  bool json = false;
  bool check = false;
};

struct Measured {
  Turns look, scan, turn;
  int named = 0;
};

class WatchedShuffle {
 public:
  WatchedShuffle(const planner::Plan& plan, const planner::Prediction& prediction,
                 const Reality& reality)
      : plan_(plan),
        run_(plan, prediction, reality),
        watched_(plan),
        watch_(plan),
        scanning_(plan) {}

  Measured Run() {
    run_.Run([this] { Look(); });
    measured_.turn = run_.turns();
    return measured_;
  }

 private:
  void Look() {
    const std::vector<planner::Bytes> read = run_.StepBytesDone();
    std::optional<master::StragglerDecision> found, scanned;
    double begin_s = CpuSeconds();
    watch_.Observe(run_.conductor().Look(read, run_.now_s(), &watched_));
    found = watch_.Decide();
    measured_.look.Add(CpuSeconds() - begin_s);
    begin_s = CpuSeconds();
    scanned = Scan(read);
    measured_.scan.Add(CpuSeconds() - begin_s);
    if (found.has_value() != scanned.has_value() || (found && found->why != scanned->why)) {
      std::fprintf(stderr, "decided otherwise at %g s\n", run_.now_s());
      std::exit(1);
    }
    measured_.named += found ? 1 : 0;
  }

  std::optional<master::StragglerDecision> Scan(const std::vector<planner::Bytes>& read) {
    const planner::PlanState state = run_.conductor().progress().StateAt(run_.now_s());
    std::vector<planner::Bytes> granted;
    for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
      granted.push_back(run_.conductor().transfer_bytes(static_cast<planner::TransferIndex>(t)));
    }
    scanning_.Observe({.state = state,
                       .step_input_bytes = run_.conductor().progress().actual().step_input_bytes,
                       .step_bytes_done = read,
                       .transfer_bytes = granted});
    return scanning_.Decide();
  }

  const planner::Plan& plan_;
  ConductedShuffle run_;
  master::WatchedState watched_;
  master::StragglerWatch watch_, scanning_;
  Measured measured_;
};

/// Returns whether every look and turn kept to the bar.
bool Measure(const Options& options, const planner::Plan& plan,
             const planner::Prediction& prediction, const std::string& network,
             const std::string& what, const Reality& reality) {
  Measured least = WatchedShuffle(plan, prediction, reality).Run();
  for (int repeat = 1; repeat < options.repeats; ++repeat) {
    const Measured next = WatchedShuffle(plan, prediction, reality).Run();
    for (const auto& [of_all, of_next] :
         {std::pair(&least.look, &next.look), std::pair(&least.scan, &next.scan),
          std::pair(&least.turn, &next.turn)}) {
      of_all->all_s = std::min(of_all->all_s, of_next->all_s);
      of_all->longest_s = std::min(of_all->longest_s, of_next->longest_s);
    }
  }
  const auto mean_ms = [](const Turns& turns) {
    return turns.all_s * 1e3 / static_cast<double>(turns.count);
  };
  const double ratio = least.scan.longest_s / least.look.longest_s;
  if (options.json) {
    std::printf(
        "{\"network\": \"%s\", \"run\": \"%s\", \"transfers\": %zu, \"looks\": %lld, \"named\": "
        "%d, "
        "\"scan_ms\": %.4g, \"scan_longest_ms\": %.4g, \"look_ms\": %.4g, "
        "\"look_longest_ms\": %.4g, \"ratio\": %.4g, \"turn_ms\": %.4g, "
        "\"turn_longest_ms\": %.4g}\n",
        network.c_str(), what.c_str(), plan.transfers.size(),
        static_cast<long long>(least.look.count), least.named, mean_ms(least.scan),
        least.scan.longest_s * 1e3, mean_ms(least.look), least.look.longest_s * 1e3, ratio,
        mean_ms(least.turn), least.turn.longest_s * 1e3);
  } else {
    std::printf(
        "%-16s %-34s %5lld looks, %2d edits: scan %8.3f ms, longest %8.3f; look %7.3f, longest "
        "%7.3f; "
        "ratio %6.1f; conductor's turn %7.4f, longest %7.3f\n",
        network.c_str(), what.c_str(), static_cast<long long>(least.look.count), least.named,
        mean_ms(least.scan), least.scan.longest_s * 1e3, mean_ms(least.look),
        least.look.longest_s * 1e3, ratio, mean_ms(least.turn), least.turn.longest_s * 1e3);
  }
  std::fflush(stdout);
  return std::max(least.look.longest_s, least.turn.longest_s) <= kLongestTurnS;
}

bool MeasureOn(const Options& options, std::int32_t channels) {
  const planner::Plan plan = Shuffle(options.num_workers, channels);
  const absl::StatusOr<planner::Prediction> prediction = planner::Predict(plan);
  if (!prediction.ok()) std::exit(1);
  const std::string network = channels == 0 ? "ports only" : std::to_string(channels) + " at once";
  bool kept = true;
  for (const auto& [what, reality] : Realities(*prediction)) {
    kept = Measure(options, plan, *prediction, network, what, reality) && kept;
  }
  return kept;
}

bool MeasureAll(const Options& options) {
  if (options.num_channels >= 0) return MeasureOn(options, options.num_channels);
  const bool kept = MeasureOn(options, 0);
  return MeasureOn(options, options.num_workers / 5) && kept;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  namespace bench = weir::bench;
  bench::Options options;
  bench::ReadFlags(argc, argv,
                   {{.name = "--json", .given = &options.json},
                    {.name = "--check", .given = &options.check},
                    {.name = "--workers", .number = &options.num_workers, .least = 2},
                    {.name = "--channels", .number = &options.num_channels},
                    {.name = "--repeats", .number = &options.repeats}},
                   "turn_bench [--workers N] [--channels N] [--repeats N] [--json] [--check]");
  const bool kept = bench::MeasureAll(options);
  return options.check && !kept ? 1 : 0;
}
