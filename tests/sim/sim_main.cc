// Simulates the real master against simulated workers under virtual time, seed by seed.
//   weir_sim [--first N] [--seeds K]   K seeds from N on, each twice: same seed, same history
//   weir_sim --seed N                  one seed, with its whole trace
// Exit codes: 0 all hold, 2 usage, 86 no progress, 87 a promise was broken.

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "runtime/base/log.h"
#include "tests/sim/checkers.h"
#include "tests/sim/maps_redone.h"
#include "tests/sim/scenario.h"
#include "tests/sim/sim_log.h"

namespace weir::sim {
namespace {

constexpr int kNoProgress = 86;
constexpr int kWrongResult = 87;
constexpr absl::Duration kVirtualTimeLimit = absl::Hours(2);
// Longer than a lease and two heartbeats: workers hear that a job is over.
constexpr absl::Duration kSettle = absl::Seconds(15);

/// A kind that was drawn so often and never struck is a mistake of the simulator.
constexpr int kDrawsToStrike = 5;

struct Count {
  int drawn = 0;
  int struck = 0;
};

struct Outcome {
  std::string scenario;
  std::map<std::string, bool> struck;  // by kind of fault
  Predictions predictions;
  bool progressed = false;
  std::vector<std::string> findings;
  std::uint64_t trace_hash = 0;
  std::uint64_t last_draw = 0;
  double virtual_s = 0;
  int planned_again = 0;  // jobs that lost a worker and succeeded
  MapsRedone maps;
  WorkersBack back;
};

Outcome RunSeed(std::uint64_t seed, bool print) {
  const std::int64_t errors_before = ErrorsLogged();
  Scenario scenario = DrawScenario(seed, print);
  World& world = *scenario.world;
  Outcome outcome;
  outcome.scenario = scenario.name;
  outcome.progressed = world.Run(kVirtualTimeLimit, kSettle);
  for (const Fault& fault : scenario.faults) outcome.struck[fault.kind] = fault.struck(world);
  if (outcome.progressed) outcome.findings = CheckRun(scenario);
  if (outcome.progressed) outcome.predictions = CountPredictions(scenario);
  if (ErrorsLogged() != errors_before) outcome.findings.push_back("an ERROR was logged");
  for (const UserJob& job : world.jobs()) {
    const bool succeeded = job.status.state() == v1::JOB_STATE_SUCCEEDED;
    if (succeeded && job.status.losses_size() > 0) ++outcome.planned_again;
  }
  outcome.maps = CountMapsRedone(world);
  outcome.back = CountWorkersBack(world);
  outcome.trace_hash = world.trace().hash();
  outcome.last_draw = world.random().Next();
  outcome.virtual_s = static_cast<double>(world.time().now().nanos()) * 1e-9;
  return outcome;
}

int Judge(std::uint64_t seed, const Outcome& outcome) {
  if (outcome.progressed && outcome.findings.empty()) return 0;
  std::printf("seed %llu (%s) after %.3f virtual s:\n", static_cast<unsigned long long>(seed),
              outcome.scenario.c_str(), outcome.virtual_s);
  if (!outcome.progressed) std::printf("  no progress\n");
  for (const std::string& finding : outcome.findings) std::printf("  %s\n", finding.c_str());
  std::printf("  again with: weir_sim --seed %llu\n", static_cast<unsigned long long>(seed));
  return outcome.progressed ? kWrongResult : kNoProgress;
}

int RunOne(std::uint64_t seed) {
  SetUpLogging(LogFormat::kText, LogLevel::kInfo);
  const Outcome outcome = RunSeed(seed, /*print=*/true);
  std::printf("seed %llu (%s): trace hash %016llx, last draw %016llx\n",
              static_cast<unsigned long long>(seed), outcome.scenario.c_str(),
              static_cast<unsigned long long>(outcome.trace_hash),
              static_cast<unsigned long long>(outcome.last_draw));
  return Judge(seed, outcome);
}

int RunMany(std::uint64_t first, std::uint64_t num_seeds) {
  int worst = 0;
  double virtual_s = 0;
  std::map<std::string, Count> kinds;
  int with_several = 0;
  int planned_again = 0;
  MapsRedone maps;
  WorkersBack back;
  Predictions predictions;
  for (std::uint64_t seed = first; seed < first + num_seeds; ++seed) {
    const Outcome outcome = RunSeed(seed, /*print=*/false);
    int verdict = Judge(seed, outcome);
    const Outcome again = RunSeed(seed, /*print=*/false);
    if (again.trace_hash != outcome.trace_hash || again.last_draw != outcome.last_draw) {
      std::printf("seed %llu (%s): two runs differ\n", static_cast<unsigned long long>(seed),
                  outcome.scenario.c_str());
      verdict = kWrongResult;
    }
    if (verdict != 0) worst = worst == 0 ? verdict : worst;
    virtual_s += outcome.virtual_s;
    planned_again += outcome.planned_again;
    maps.done += outcome.maps.done;
    maps.redone += outcome.maps.redone;
    back.restarts += outcome.back.restarts;
    back.runs_kept += outcome.back.runs_kept;
    predictions.jobs += outcome.predictions.jobs;
    predictions.far += outcome.predictions.far;
    with_several += outcome.struck.size() > 1 ? 1 : 0;
    for (const auto& [kind, struck] : outcome.struck) {
      ++kinds[kind].drawn;
      kinds[kind].struck += struck ? 1 : 0;
    }
  }
  std::printf("drawn struck kind of fault (%d seeds have several)\n", with_several);
  for (const auto& [kind, count] : kinds) {
    std::printf("%5d %6d %s\n", count.drawn, count.struck, kind.c_str());
    if (count.struck > 0 || count.drawn < kDrawsToStrike) continue;
    std::printf("  never met a job: it shows nothing\n");
    worst = worst == 0 ? kWrongResult : worst;
  }
  std::printf("%d jobs lost workers, were planned again and succeeded\n", planned_again);
  std::printf("%d of %d maps were done again by another master, whatever else went wrong\n",
              maps.redone, maps.done);
  std::printf("%d workers were killed and back at once, with %lld runs that counted\n",
              back.restarts, static_cast<long long>(back.runs_kept));
  std::printf("%d of %d predictions without faults are far\n", predictions.far, predictions.jobs);
  if (predictions.far > 1 && predictions.far * kJobsOfOneFar > predictions.jobs) {
    worst = worst == 0 ? kWrongResult : worst;
  }
  std::printf("%llu seeds from %llu, each twice, %.0f virtual s: %s\n",
              static_cast<unsigned long long>(num_seeds), static_cast<unsigned long long>(first),
              virtual_s, worst == 0 ? "all promises hold" : "FAILED");
  return worst;
}

int Main(int argc, char** argv) {
  std::uint64_t first = 0;
  std::uint64_t num_seeds = 200;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view flag = argv[i];
    std::uint64_t value = 0;
    const bool known = flag == "--seed" || flag == "--first" || flag == "--seeds";
    if (!known || i + 1 == argc || !absl::SimpleAtoi(argv[++i], &value)) {
      std::fprintf(stderr, "usage: weir_sim [--seed N] [--first N] [--seeds K]\n");
      return 2;
    }
    if (flag == "--seed") return RunOne(value);
    (flag == "--first" ? first : num_seeds) = value;
  }
  if (num_seeds == 0) {
    std::fprintf(stderr, "weir_sim: of no seed all promises hold: --seeds takes at least 1\n");
    return 2;
  }
  return RunMany(first, num_seeds);
}

}  // namespace
}  // namespace weir::sim

int main(int argc, char** argv) { return weir::sim::Main(argc, argv); }
