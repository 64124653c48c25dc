#include "runtime/master/sample/map_cost.h"

#include <algorithm>

namespace weir::master {
namespace {

constexpr double kInputPartMin = 0.1;
// Hashing, storing and sorting a key of ten bytes takes some 100 ns, reading it 20 (wordcount of
// words that are all different, against words that are all known).
constexpr double kOutputPart = 0.8;
// Less more output than that tells nothing of its cost.
constexpr double kMoreMadeMin = 0.1;

}  // namespace

MapCost FitMapCost(const MapSums& small, const MapSums& again, const MapSums& large,
                   bool combines) {
  const double all = large.seconds / large.work;
  if (again.work <= 0) {
    if (combines && large.made > 0)
      return {(1 - kOutputPart) * all, kOutputPart * large.seconds / large.made};
    const double marginal = (large.seconds - small.seconds) / (large.work - small.work);
    return {std::min(marginal, all), 0};
  }
  const double determinant = again.work * large.made - large.work * again.made;
  if (determinant <= kMoreMadeMin * again.work * large.made) {
    return {(large.seconds + again.seconds) / (large.work + again.work), 0};
  }
  const double of_output =
      std::max(0.0, (again.work * large.seconds - large.work * again.seconds) / determinant);
  const double of_input = (large.seconds - of_output * large.made) / large.work;
  if (of_input >= kInputPartMin * all) return {of_input, of_output};
  return {kInputPartMin * all, (1 - kInputPartMin) * large.seconds / large.made};
}

}  // namespace weir::master
