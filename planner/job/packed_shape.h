#pragma once

// A job whose runs are packed, told as a job that moves fewer bytes. Upstream: PlanJob. Downstream:
// the builders, which know nothing of packing.

#include <vector>

#include "planner/job/job_shape.h"
#include "planner/plan/codec.h"

namespace weir::planner {

/// What packing takes on a worker of unit rate, seconds per byte of what is not packed.
struct CodecCost {
  double pack_seconds_per_byte = 0;
  double unpack_seconds_per_byte = 0;
};

/// Measured on sorted words in blocks of 1 MiB: lz4 500 MB/s and 2.5 GB/s, zstd level 1 330 MB/s
/// and 1.1 GB/s on a slot of a unit worker. One thread of a step packs and unpacks, so that a
/// worker of s slots, whose rate counts them all, takes s times as long.
CodecCost CostOf(Codec codec, const ClusterProfile& cluster);

/// Returns packed bytes per byte of what `layer` reads; 1 where it is not known.
double PackedRatio(const LayerShape& layer, Codec codec);

/// Returns the shape in which all sizes between layers are packed ones.
///
/// Model: a layer p with output ratio g, whose runs shrink to rho, has g rho; its steps also take g
///   * pack a byte of input. Who reads them has rates per packed byte: (a + unpack) / rho, g / rho.
///   Combine steps of a layer unpack and pack: (combine + unpack + pack) / rho. What steps hold and
///   put on disk is not packed: LayerShape::stored_ratio says what it is of packed bytes.
/// `run_codec`: by the layer that packs; layers that are not in it pack nothing.
/// Thread-safety: pure. Checked by: tests/unit/planner_job/packed_shape_test.cc.
JobShape PackedShape(const JobShape& shape, const ClusterProfile& cluster,
                     const std::vector<Codec>& run_codec);

/// Returns the codec of each layer by which the shuffle should shorten by more than packing takes,
/// if everybody has an even share; kNone where none does or nothing is known of the bytes.
std::vector<Codec> CodecsWorthTrying(const JobShape& shape, const ClusterProfile& cluster);

}  // namespace weir::planner
