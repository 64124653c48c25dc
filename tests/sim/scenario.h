#pragma once

// Workload + chaos, drawn from a seed, and what must hold of the run.
// Upstream: sim_main. Downstream: World, checkers.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/limits.h"
#include "tests/sim/world.h"

namespace weir::sim {

/// What the checkers may demand of a run.
struct Expectations {
  /// Every job succeeds.
  bool all_succeed = false;
  /// But for one that comes before anybody could register: it may be refused with NO_WORKERS.
  bool may_come_too_early = false;
  /// And takes what was predicted, within kPredictionShare and kPredictionSeconds.
  bool as_predicted = false;
  /// What fails of a plan that runs is mended by editing it, where it can be edited.
  bool planned_once = false;
  /// Jobs that are under way at one of these moments are over `ending_limit` later.
  std::vector<MonoTime> fatal_moments;
  /// They wait for workers for that long.
  absl::Duration ending_limit = limits::kWorkerGrace + absl::Milliseconds(10'200);
  /// The file system refuses to work, so a staging directory may stay.
  bool staging_may_stay = false;
  /// Error codes that the injected faults may lead to.
  std::vector<std::string> legal_codes;
  /// The same, of faults of workers: where nobody is left whom they did not strike.
  std::vector<std::string> legal_where_none_is_sound;
  /// Nothing but a master ended: of the maps that were done at most kMapsRedoneShare are done
  /// again.
  bool maps_are_kept = false;
};
inline constexpr double kMapsRedoneShare = 0.05;

/// Predicted against simulated makespan in runs without faults: the model leaves out control
/// messages (0.2 to 0.6 ms for each step and transfer) and the rounding of sections.
inline constexpr double kPredictionShare = 0.05;
inline constexpr double kPredictionSeconds = 0.05;
/// Rates come from samples and from runs before, which may be wrong: one job of so many may be
/// beyond that, by no more than this factor.
inline constexpr int kJobsOfOneFar = 10;
inline constexpr double kFarPredictionFactor = 3;

/// One thing that goes wrong, and whether it did: asked when the run is over.
struct Fault {
  std::string kind;
  std::function<bool(World&)> struck;
};

struct Scenario {
  std::string name;
  std::vector<Fault> faults;
  std::unique_ptr<World> world;
  Expectations expectations;
};

/// Number of different kinds; seed % kScenarioKinds chooses one, the rest of the seed its numbers
/// and, every second round, one or two more kinds in the same run.
inline constexpr std::uint64_t kProcessFaultKinds = 19;
inline constexpr std::uint64_t kGroundFaultKinds = 18;
inline constexpr std::uint64_t kPassingFaultKinds = 7;
inline constexpr std::uint64_t kScenarioKinds =
    kProcessFaultKinds + kGroundFaultKinds + kPassingFaultKinds;

Scenario DrawScenario(std::uint64_t seed, bool print);

}  // namespace weir::sim
