#pragma once

// What racks with limited ways in and out mean for a job's loads: a bound that holds for every
// split, and splits that keep more inside the racks. Upstream: job_bound, LoadPlan. Downstream:
// nothing.

#include <limits>
#include <vector>

#include "planner/job/job_shape.h"
#include "planner/plan/network_model.h"

namespace weir::planner {

/// Workers behind one way out and one way in.
struct Rack {
  std::vector<WorkerIndex> workers;
  /// Full-rate channels; infinite without a cut.
  double up_channels = std::numeric_limits<double>::infinity();
  double down_channels = std::numeric_limits<double>::infinity();
};

/// Returns the levels of a hierarchy, racks before groups of racks: each is a partition of the
/// workers by cuts that lead out of a set of workers to all others, or into it. Who stands in no
/// such set of a level is in a last rack of it without limits. Cuts of any other form (one limited
/// total) are in no level.
std::vector<std::vector<Rack>> RackLevels(const NetworkModel& network);

/// What a job's first shuffle has to do, in seconds at unit rates.
struct RackWork {
  /// All map work and all reduce work of the first layer, on one worker of unit rate. map_s = 0
  /// where bytes that a mapper makes do not say how many it reads.
  Seconds map_s = 0;
  Seconds reduce_s = 0;
  /// All that the mappers make, through one channel.
  Seconds moved_s = 0;
  /// No plan has mapped everything before that.
  Seconds map_least_s = 0;
  /// What takes place after the last reducer of the layer has its input, at least.
  Seconds after_s = 0;
  /// By how much a rack's part of the map output may differ from its part of the input: whole
  /// bytes.
  double rounding = 0;
  /// RackRates.
  std::vector<double> rates;
};

/// Returns map_s, reduce_s, moved_s and rounding of a job whose mappers make that many bytes at
/// least; the other fields are left alone. Requires: a layer to shuffle to.
RackWork RackWorkOf(const JobShape& shape, const ClusterProfile& cluster, double shuffled_bytes);

/// Returns, by rack, the sum of the rates of its workers.
std::vector<double> RackRates(const std::vector<Rack>& level, const ClusterProfile& cluster);

/// Returns a lower bound on the end of every job with this work, whoever maps and reduces what.
///
/// Model: rack A maps the part x_A of the map output and has the part d_A of the keys, so x_A (1 -
///   d_A) of it leaves A and d_A (1 - x_A) enters, through up_A and down_A channels. A reducer
///   waits for all mappers, so map and reduce times of the busiest racks add up:
///     one rack alone: the least over (x, d) of the larger of both ways and of
///       max(map_least, map x / R_A, map (1 - x) / R_rest) + reduce max(d / R_A, (1 - d) / R_rest);
///     all together, where all have ways out: sum x_A (1 - d_A) = 1 - sum x_A d_A >= 1 - m with m
///       the lesser of the largest x and the largest d, which some rack maps and reduces.
///   Over (x, d) by a grid of boxes, each by its most favourable corner; m by halving.
/// Proven: volume arguments. Requires: work.rates has one entry a rack. Thread-safety: pure.
/// Checked by: tests/unit/planner_job/rack_loads_test.cc (against a grid of splits and all plans).
Seconds RackBound(const std::vector<Rack>& level, const RackWork& work);

/// Parts of the input mapped and of the keys reduced, by rack. Each list sums to 1.
struct RackShares {
  std::vector<double> mapped;
  std::vector<double> reduced;
};

/// Returns what a split by these parts takes, if hosts of a rack share its part by their rates:
/// map, then shuffle by its busiest way or port, then reduce. Seconds.
Seconds RackSplitSeconds(const std::vector<Rack>& level, const RackWork& work,
                         const RackShares& shares);

/// Returns the parts that take least by RackSplitSeconds, found by moving parts between two racks,
/// smaller and smaller ones, from the parts by rate and from each rack alone. Not better than
/// that: a local search. Time: O(racks^3) for each of some dozen rounds; racks above
/// kRacksSearched are not moved.
RackShares ShortestRackShares(const std::vector<Rack>& level, const RackWork& work);
inline constexpr std::size_t kRacksSearched = 32;

}  // namespace weir::planner
