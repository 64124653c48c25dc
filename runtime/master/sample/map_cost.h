#pragma once

// What map steps take, told apart into what input costs and what output does. Pure.
// Upstream: SampleMachine. Downstream: the shape of the sample.

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

/// Solves A work + B made = seconds.
///
/// `again` is the small sample read several times over: as much output as the small one makes, of
/// as much input as the large one. So keys that are found again are told apart from those that are
/// new, and the small one, in which a process takes its first memory, counts for nothing but the
/// growth. Where `again` is empty: of jobs that combine, whose keys are then all new, nearly all is
/// of output (kOutputPart); of others A is what more input took, at most what all of it took.
/// A and B are never below 0, and A not below kInputPartMin of what all input took.
/// Requires: small.work < large.work; large.made > 0 where the job combines.
/// Checked by: tests/unit/master/map_cost_test.cc.
MapCost FitMapCost(const MapSums& small, const MapSums& again, const MapSums& large, bool combines);

}  // namespace weir::master
