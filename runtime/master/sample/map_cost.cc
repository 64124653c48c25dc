#include "runtime/master/sample/map_cost.h"

#include <algorithm>
#include <optional>

#include "runtime/master/learning/two_costs.h"

namespace weir::master {
namespace {

constexpr double kInputPartMin = 0.1;
// Hashing, storing and sorting a key of ten bytes takes some 100 ns, reading it 20 (wordcount of
// words that are all different, against words that are all known).
constexpr double kOutputPart = 0.8;
// Two steps of some milliseconds may differ by chance: what is left to the start is at most the
// rest of what all input took.
constexpr double kAtSpeedMin = 0.3;

// Of what the large sample takes beyond finding its keys again, so much is of input that lies in no
// cache yet, as all of a job's does; the rest is of places that begin anew, and of keys.
constexpr double kFromMemoryPart = 0.1;

// The least of what more input took beyond the small sample, and of what it took by itself: chance
// and first memory only add, but a step of little sorts it on one slot, which saves it calls.
double AtSpeed(const std::vector<MapSums>& rounds, double all) {
  const MapSums& once = rounds[1];
  double least = all;
  for (const MapSums& round : rounds) {
    if (round.work <= once.work) continue;
    least = std::min({least, (round.seconds - once.seconds) / (round.work - once.work),
                      round.seconds / round.work});
  }
  return std::max(least, kAtSpeedMin * all);
}

}  // namespace

MapCost FitMapCost(const std::vector<MapSums>& rounds, bool combines) {
  const MapSums& large = rounds.front();
  const double all = large.seconds / large.work;
  if (!combines && rounds.size() > 1) return {AtSpeed(rounds, all), 0};
  if (!combines || large.made <= 0) return {all, 0};
  if (rounds.size() == 1)
    return {(1 - kOutputPart) * all, kOutputPart * large.seconds / large.made};
  std::vector<TwoParts> measured;
  double work = 0;
  double seconds = 0;
  for (const MapSums& round : rounds) {
    measured.push_back({round.work, round.made, round.seconds});
    work += round.work;
    seconds += round.seconds;
  }
  const std::optional<TwoCosts> fitted = FitTwoCosts(measured);
  if (!fitted || fitted->of_second <= 0) return {seconds / work, 0};
  if (fitted->of_first >= kInputPartMin * all) return {fitted->of_first, fitted->of_second};
  return {kInputPartMin * all, (1 - kInputPartMin) * large.seconds / large.made};
}

MapCost FitMapCostOfKnownKeys(const std::vector<MapSums>& rounds, double found_later) {
  const MapSums& once = rounds[1];
  const double all = rounds[0].seconds / rounds[0].work;
  const auto beyond_once = [&once](const MapSums& round) {
    return (round.seconds - once.seconds) / (round.work - once.work);
  };
  const double again = beyond_once(rounds[2]);
  const double from_memory = std::max(0.0, beyond_once(rounds[0]) - again);
  MapCost cost;
  cost.seconds_per_byte =
      std::clamp(found_later * again + kFromMemoryPart * from_memory, kInputPartMin * all, all);
  if (once.made > 0) {
    cost.seconds_per_output_byte =
        std::max(0.0, once.seconds - cost.seconds_per_byte * once.work) / once.made;
  }
  return cost;
}

StepBeginnings BeginningsOfSteps(const MapSums& small, const std::vector<MapSums>& rounds,
                                 double seconds_per_byte) {
  const auto beyond_bytes = [seconds_per_byte](const MapSums& round) {
    return round.seconds - seconds_per_byte * round.work;
  };
  const double once = beyond_bytes(rounds[1]);
  return {std::max(0.0, once),
          std::max(0.0, beyond_bytes(small) - once) +
              std::max(0.0, beyond_bytes(rounds[0]) - beyond_bytes(rounds[2]))};
}

}  // namespace weir::master
