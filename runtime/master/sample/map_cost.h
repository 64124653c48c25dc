#pragma once

// What map steps take, told apart into what input costs and what output does. Pure.
// Upstream: SampleMachine. Downstream: the shape of the sample.

#include <vector>

namespace weir::master {

/// All map steps of one round: bytes read and made, each over the rate of its worker, and the time
/// beyond the overheads.
struct MapSums {
  double work = 0;
  double made = 0;
  double seconds = 0;
};

struct MapCost {
  double seconds_per_byte = 0;         // A
  double seconds_per_output_byte = 0;  // B
};

/// Solves A work + B made = seconds for all rounds at once, by least squares of relative errors.
///
/// The first round is the large sample; others, if any, read the small one once more and several
/// times over: as much output each time, of more input. So what keys cost that are found again is
/// told apart from what new ones cost. Of the large sample alone: where the job combines, nearly
/// all is of output (kOutputPart), because its keys are then nearly all new; else all is of input.
/// A job that does not combine has A alone: of the larger rounds the least that they took beyond
/// the small sample read once more (rounds[1]), because the first megabytes of a step cost more a
/// byte than all others, and never below kAtSpeedMin of what all input took.
/// A and B are never below 0, and A not below kInputPartMin of what all input took.
/// Requires: rounds[0].work > 0, seconds > 0.
/// Checked by: tests/unit/master/map_cost_test.cc.
MapCost FitMapCost(const std::vector<MapSums>& rounds, bool combines);

/// The same of a job that combines and whose large sample (rounds[0]) has no more keys than the
/// small one (rounds[1]), so that the job has none, either: A is `found_later` times what reading
/// that several times over (rounds[2]) took beyond once more, and a part (kFromMemoryPart) of what
/// the large one took beyond that; B what once more took beyond A. The large sample alone would say
/// more than the job takes: each place of its few megabytes begins anew, and so does each of its
/// keys, in memory that no cache has yet. (onebrc of 256 MB, nanoseconds a byte, six runs each: 413
/// stations 0.78 to 1.07 by the large one, 0.42 to 0.61 again, 0.64 in the job; 10 000 stations 1.6
/// to 2.1, 0.9 to 1.2, 0.9.) A is not above what all input took, and not below kInputPartMin of it.
/// Requires: rounds[0] and rounds[2] of more work than rounds[1].
/// Checked by: tests/unit/master/map_cost_test.cc.
MapCost FitMapCostOfKnownKeys(const std::vector<MapSums>& rounds, double found_later);

/// What all steps together take beyond the overheads and A, of a job that does not combine.
struct StepBeginnings {
  double each_s = 0;        // of reading the small sample once more (rounds[1]), whatever its bytes
  double new_memory_s = 0;  // only of the first steps of a process, until its memory is there
};

/// Tells them apart: new memory is what the small sample took when it was read first, beyond once
/// more, and the large one beyond as much of the small one again (rounds[2]). Each is 0 at least.
/// Requires: rounds as of FitMapCost, three of them.
/// Checked by: tests/unit/master/map_cost_test.cc.
StepBeginnings BeginningsOfSteps(const MapSums& small, const std::vector<MapSums>& rounds,
                                 double seconds_per_byte);

/// Returns what a byte of pairs costs a step of the job more than one of the sample, seconds on a
/// unit worker, where nothing is combined: pairs are sorted and merged in memory that caches hold
/// of the sample's step, of so many bytes, but not of the job's. (Terasort of 64 and 256 MB, five
/// measurements of 20 runs, medians: maps took 0.05 to 0.4 ns a byte more than their samples said,
/// reduces -0.05 to 0.3.)
/// Checked by: tests/unit/master/map_cost_test.cc.
inline double BeyondCaches(double sample_bytes, double job_bytes) {
  constexpr double kCachesBytes = 8e6;
  constexpr double kSecondsPerByte = 0.2e-9;
  return job_bytes > kCachesBytes && job_bytes > 2 * sample_bytes ? kSecondsPerByte : 0;
}

}  // namespace weir::master
