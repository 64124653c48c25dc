#include "planner/load/schedule_layer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "planner/load/fast_layer.h"
#include "planner/load/interval_program.h"
#include "planner/load/longest_remaining.h"
#include "planner/load/matching_schedule.h"
#include "planner/load/source_decomposition.h"
#include "planner/load/source_program.h"
#include "planner/load/wheel.h"
#include "planner/plan/units.h"

namespace weir::planner::load {
namespace {

// Times closer than this (scaled) are one: senders of a group that finish together differ by
// rounding only.
constexpr double kSameTime = 1e-10;
// By how much (scaled) the interval program may overfill an interval.
constexpr double kProgramSlack = 1e-7;
// Longest pieces tried by longest remaining first, as parts of the makespan.
constexpr double kPieceShares[] = {0.01, 0.002, 0.001, 0.0005};
constexpr double kCloseEnough = 1e-3;
// Above this many pairs one try takes seconds.
constexpr double kRepeatedPairsMax = 250000;
// Pieces of a pair this close touch.
constexpr double kTouch = 1e-12;

double EndOf(const std::vector<Piece>& pieces, double at_least) {
  for (const Piece& piece : pieces) at_least = std::max(at_least, piece.end);
  return at_least;
}

/// Moments at which the set of busy senders changes, when each sends without pause from its finish.
std::vector<double> Changes(const ScaledLayer& layer, const ShuffleDemand& demand,
                            const std::vector<double>& share) {
  std::vector<double> changes;
  for (std::int32_t j = 0; j < layer.n; ++j) {
    changes.push_back(demand.release[At(j)]);
    changes.push_back(demand.release[At(j)] + layer.send_all * share[At(j)]);
  }
  std::sort(changes.begin(), changes.end());
  std::vector<double> distinct;
  for (const double change : changes) {
    if (distinct.empty() || change - distinct.back() > kSameTime) distinct.push_back(change);
  }
  return distinct;
}

/// The wheel in every window in which at most L senders are busy; the rest, from the first window
/// that has more, by one matching. No value when that is more pieces than allowed.
absl::StatusOr<std::optional<LayerSchedule>> TryWheel(const ScaledLayer& layer,
                                                      const ShuffleDemand& demand,
                                                      const std::vector<double>& share,
                                                      const ScheduleOptions& options) {
  const std::vector<double> changes = Changes(layer, demand, share);
  const double pairs = static_cast<double>(layer.n) * layer.r;
  LayerSchedule schedule;
  schedule.method = "wheel";
  std::vector<double> left(share.size());
  for (std::size_t j = 0; j < share.size(); ++j) left[j] = layer.send_all * share[j];
  for (std::size_t window = 0; window + 1 < changes.size(); ++window) {
    const double begin = changes[window];
    const double end = changes[window + 1];
    std::vector<std::int32_t> busy;
    for (std::int32_t j = 0; j < layer.n; ++j) {
      if (demand.release[At(j)] <= begin + kSameTime && left[At(j)] > kSameTime) busy.push_back(j);
    }
    if (static_cast<std::int32_t>(busy.size()) > layer.width) {
      ShuffleDemand rest = demand;
      for (std::int32_t j = 0; j < layer.n; ++j) {
        for (std::int32_t k = 0; k < layer.r; ++k) {
          rest.send_time[At(j)][At(k)] = left[At(j)] * layer.fractions[At(k)];
        }
      }
      const bool all_released = demand.release.back() <= begin + kSameTime;
      if (!all_released) return std::optional<LayerSchedule>();
      const absl::StatusOr<std::vector<Piece>> tail =
          MatchingSchedule(rest.send_time, begin, WindowNeeded(rest.send_time, layer.l), layer.l);
      if (!tail.ok()) return tail.status();
      schedule.pieces.insert(schedule.pieces.end(), tail->begin(), tail->end());
      break;
    }
    const std::vector<Piece> turn = WheelTurn(busy, layer.fractions, layer.width, begin, end);
    schedule.pieces.insert(schedule.pieces.end(), turn.begin(), turn.end());
    for (const std::int32_t j : busy) left[At(j)] -= end - begin;
    if (static_cast<double>(schedule.pieces.size()) >
        2 * options.pieces_per_pair_max * pairs + layer.n) {
      return std::optional<LayerSchedule>();
    }
  }
  schedule.pieces = MergeTouching(std::move(schedule.pieces), kTouch);
  if (static_cast<double>(schedule.pieces.size()) > options.pieces_per_pair_max * pairs + layer.n) {
    return std::optional<LayerSchedule>();
  }
  schedule.makespan = EndOf(schedule.pieces, demand.release.back());
  return std::optional<LayerSchedule>(std::move(schedule));
}

/// Longest remaining first with shorter and shorter pieces, while they are within their number and
/// the makespan is not yet within a thousandth of what the cuts allow.
absl::StatusOr<LayerSchedule> ServeLongestFirst(const ScaledLayer& layer,
                                                const ShuffleDemand& demand, double horizon,
                                                const ScheduleOptions& options) {
  const double pairs = static_cast<double>(layer.n) * layer.r;
  LayerSchedule best;
  for (const double piece_share : kPieceShares) {
    absl::StatusOr<LongestRemainingResult> result =
        LongestRemainingFirst(demand, horizon * piece_share);
    if (!result.ok()) return result.status();
    std::vector<Piece> pieces = MergeTouching(std::move(result->pieces), kTouch);
    const bool too_many =
        static_cast<double>(pieces.size()) > options.pieces_per_pair_max * pairs + layer.n;
    if (too_many && !best.pieces.empty()) break;
    if (best.pieces.empty() || result->makespan < best.makespan) {
      best = {std::move(pieces), result->makespan, "longest remaining first"};
    }
    if (too_many || best.makespan <= horizon * (1 + kCloseEnough) || pairs > kRepeatedPairsMax)
      break;
  }
  return best;
}

/// The length of an interval, or what its transfers need where that is rounding: programs keep each
/// row to 1e-9, which can exceed a very short interval.
double RoundedUp(const IntervalTransfers& interval, double length, std::int32_t channels) {
  const double needed = WindowNeeded(interval.send_time, channels);
  return needed - length <= kProgramSlack ? std::max(length, needed) : length;
}

/// Decomposes each interval by `decompose` and joins the pieces.
template <typename Decompose>
absl::StatusOr<LayerSchedule> JoinIntervals(const std::vector<IntervalTransfers>& intervals,
                                            double last_finish, const char* method,
                                            Decompose decompose) {
  LayerSchedule schedule;
  schedule.method = method;
  for (const IntervalTransfers& interval : intervals) {
    const double length = interval.end - interval.begin;
    if (length <= kTouch) continue;
    absl::StatusOr<std::vector<Piece>> pieces = decompose(interval, length);
    if (!pieces.ok()) return pieces.status();
    schedule.pieces.insert(schedule.pieces.end(), pieces->begin(), pieces->end());
  }
  schedule.pieces = MergeTouching(std::move(schedule.pieces), kTouch);
  schedule.makespan = EndOf(schedule.pieces, last_finish);
  return schedule;
}

/// The interval program, each of its intervals by one matching.
absl::StatusOr<LayerSchedule> ByIntervals(const ScaledLayer& layer, const ShuffleDemand& demand) {
  const absl::StatusOr<std::vector<IntervalTransfers>> intervals = SolveIntervalProgram(demand);
  if (!intervals.ok()) return intervals.status();
  return JoinIntervals(*intervals, demand.release.back(), "interval program",
                       [&](const IntervalTransfers& interval, double length) {
                         return MatchingSchedule(interval.send_time, interval.begin,
                                                 RoundedUp(interval, length, layer.l), layer.l);
                       });
}

}  // namespace

ShuffleDemand DemandOf(const ScaledLayer& layer, const std::vector<double>& share) {
  ShuffleDemand demand;
  demand.channels = layer.l;
  demand.send_time.assign(At(layer.n), std::vector<double>(At(layer.r)));
  double latest = 0;
  for (std::int32_t j = 0; j < layer.n; ++j) {
    // Finishing order holds to rounding; the schedule needs it exactly.
    latest = std::max(latest, layer.FinishTime(j, share[At(j)]));
    demand.release.push_back(latest);
    for (std::int32_t k = 0; k < layer.r; ++k) {
      demand.send_time[At(j)][At(k)] = layer.send_all * share[At(j)] * layer.fractions[At(k)];
    }
  }
  return demand;
}

absl::StatusOr<LayerSchedule> ScheduleLayer(const ScaledLayer& layer,
                                            const std::vector<double>& share,
                                            const ScheduleOptions& options) {
  const ShuffleDemand demand = DemandOf(layer, share);
  if (layer.send_all <= kTouch) return LayerSchedule{{}, demand.release.back(), "nothing to send"};
  if (HasClosedForm(layer)) {
    absl::StatusOr<std::optional<LayerSchedule>> wheel = TryWheel(layer, demand, share, options);
    if (!wheel.ok() && !absl::IsInternal(wheel.status())) return wheel.status();
    if (wheel.ok() && wheel->has_value()) return **std::move(wheel);
  }
  const std::int64_t size = static_cast<std::int64_t>(layer.n) * layer.n * layer.r;
  if (size <= options.program_size_max) {
    absl::StatusOr<LayerSchedule> exact = ByIntervals(layer, demand);
    // An interval that rounding overfills, or leaves without a matching, is no reason for no plan,
    // nor is a program that its solver does not close.
    if (exact.ok() || !absl::IsInternal(exact.status())) return exact;
  }
  return ServeLongestFirst(layer, demand, CutMakespan(layer, share), options);
}

absl::StatusOr<LayerSchedule> ScheduleLayerBySource(const ScaledLayer& layer) {
  const absl::StatusOr<SourceSolution> solution = SolveSourceProgram(layer);
  if (!solution.ok()) return solution.status();
  return JoinIntervals(solution->intervals, solution->finish[At(layer.n - 1)],
                       "source decomposition",
                       [&](const IntervalTransfers& interval, double length) {
                         return SourceDecomposition(interval.send_time, interval.begin,
                                                    RoundedUp(interval, length, layer.l), layer.l);
                       });
}

}  // namespace weir::planner::load
