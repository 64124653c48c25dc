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

/// Returns what all steps of a job that does not combine take for beginning, which A leaves out:
/// what the small sample took when it was read first, beyond reading it once more (rounds[1]), what
/// the large sample took beyond as much of the small one again (rounds[2]), in memory that was new,
/// and what reading once more took beyond its bytes. Each is 0 at least.
/// Requires: rounds as of FitMapCost, three of them.
/// Checked by: tests/unit/master/map_cost_test.cc.
double BeginningOfSteps(const MapSums& small, const std::vector<MapSums>& rounds,
                        double seconds_per_byte);

}  // namespace weir::master
