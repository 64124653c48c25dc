#pragma once

// What the planner is told of a job and of the cluster. Upstream: runtime/master fills these from
// the journal's history, sampling, flags and defaults. Downstream: PlanJob.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/job/key_weights.h"
#include "planner/job/loop_shape.h"
#include "planner/load/growth_curve.h"
#include "planner/plan/codec.h"
#include "planner/plan/network_model.h"
#include "planner/plan/plan.h"
#include "planner/plan/units.h"

namespace weir::planner {

/// Where a number came from; shown by `weir plan`.
enum class Origin { kDefault, kFlag, kHistory, kSampled, kMeasured };

const char* OriginName(Origin origin);

/// A number and where it came from.
struct Known {
  double value = 0;
  Origin origin = Origin::kDefault;
};

/// What a codec makes of the bytes between two layers; kNone, where runs refer to records of
/// the input.
struct PackedBytes {
  /// No codec of ours does better than one byte in 65 536.
  static constexpr double kRatioMin = 1e-6;

  Codec codec = Codec::kNone;
  /// Packed bytes per byte. In [kRatioMin, 1].
  Known ratio{1, Origin::kDefault};
};

/// What workers hold of a layer's input before it is reduced, and whether partial results can be
/// combined on the way (reduction trees).
struct ElementShape {
  enum class Kind {
    kNone,    // every value of a key must meet the others in a reduce step
    kTable,   // a value for each key: the union of tables grows less than they do together
    kVector,  // a value for each place, as many for every worker
  };
  Kind kind = Kind::kNone;
  /// Places of an element, by which its parts are addressed. >= 1 unless kNone.
  std::int64_t places = 0;
  /// kVector: size of a place, bytes. >= 1. kTable: 0.
  Bytes place_bytes = 0;
  /// Any order of operands gives the same; otherwise they keep the order of the input.
  bool commutative = false;
  /// Parts can be combined one by one.
  bool splits = true;
  /// Seconds to combine one byte of an element into another, on a worker of unit rate. >= 0.
  Known combine_seconds_per_byte;
  /// kVector: packed bytes per byte (PackedShape). In (0, 1].
  double packed_ratio = 1;

  bool combines() const { return kind != Kind::kNone; }
};

/// One layer after the first: how fast it reduces and what it leaves.
struct LayerShape {
  /// a_p of 004: seconds per byte of reduce work at unit rate. >= 0.
  Known reduce_seconds_per_byte;
  /// Where the time of a reduce step was measured to grow faster than its bytes: that of a worker
  /// of unit rate, beyond reduce_seconds_per_byte.
  load::GrowthCurve reduce_growth;
  Origin reduce_growth_origin = Origin::kDefault;
  /// s_p: start-up of a reducer and whatever else a reduce step takes at any size, seconds. >= 0.
  Known startup_s;
  /// g_p: bytes out per byte in. >= 0.
  Known output_ratio;
  /// Requested number of reducers; 0 = the planner chooses.
  std::int32_t num_reducers = 0;
  /// Of the bytes that this layer reads.
  KeyWeights key_weights;
  Origin key_weights_origin = Origin::kDefault;
  /// Of the same bytes, one entry a codec that was tried on them, or was in use. All other numbers
  /// of the shape are about bytes that are not packed.
  std::vector<PackedBytes> packed;
  /// Of what it reads.
  ElementShape element;
  /// Mean size of a record of what it reads, with its lengths, before packing; 0 = not known.
  Known record_bytes;
  /// Stored bytes per byte of what it reads (PackedShape). In (0, 1].
  double stored_ratio = 1;
};

/// Returns what a reduce step that reads so much takes beyond startup_s, on a worker of unit rate.
Seconds ReduceSeconds(const LayerShape& layer, double bytes);

/// Returns what at most `steps` >= 1 steps that read `bytes` together take by reduce_growth at
/// least, seconds at unit rate: as much as equal ones, since it is convex. 0 without a curve.
Seconds LeastGrowthSeconds(const LayerShape& layer, double bytes, double steps);

/// How the output of the last layer is stored (004, 4.1, after (8)).
enum class FinalWrite {
  kParts,     // every reducer writes its own part file
  kParallel,  // one part file a reducer, as many at once as the store has channels
  kOne,       // one file: parts go to one writer, one at a time, which joins them in their order
};

/// Where the result goes.
struct StoreShape {
  FinalWrite write = FinalWrite::kParts;
  /// l: part files that may be written at once, kParallel only; 0 = as many as the network has
  /// channels between all pairs, or without a limit where it has none. >= 0.
  std::int32_t channels = 0;
  /// Seconds per byte of writing output. >= 0. With kParts it is part of the reduce rate.
  Known seconds_per_byte;
  /// Seconds per byte of the disk that all reducers write to at a time, as measured; 0 = not known,
  /// which costs no time. Only with kParts (ReduceStepSeconds, ADR 0054). >= 0.
  double disk_seconds_per_byte = 0;
};

/// [begin, end) of the input. 0 <= begin < end.
struct ByteRange {
  Bytes begin = 0;
  Bytes end = 0;
};

/// What a map step makes that reads so much, bytes before packing.
struct OutputPoint {
  double input_bytes = 0;   // > 0
  double output_bytes = 0;  // > 0
};

/// Sizes and rates of one job.
struct JobShape {
  std::string job;
  Bytes input_bytes = 0;
  /// What one mapper has to read alone (packed files), in order, none overlapping another.
  std::vector<ByteRange> uncut;
  /// They are whole gzip files, all of them: so notes call them.
  bool uncut_are_gzip = true;
  /// What a byte costs to map, by equal parts of the input in order, beside those of the others;
  /// sizes and rates below are of bytes of mean cost. Empty: all alike, or not known. Not used
  /// where something is uncut. Each > 0.
  std::vector<double> input_weights;
  /// A of 004: seconds per byte of map work on a worker of unit rate. > 0.
  Known map_seconds_per_byte;
  /// S of 004: start-up of a mapper, seconds; mapper j starts at j * S. >= 0.
  Known map_startup_s;
  /// What a map step takes at any size: order, task, files, report. Seconds, >= 0.
  Known map_overhead_s;
  /// Seconds per byte of the disk that all mappers read from at a time, as measured; 0 = not known,
  /// or the input is in memory: costs no time (InputDiskSeconds, ADR 0062). >= 0.
  double input_disk_seconds_per_byte = 0;
  /// g_0: map output bytes per input byte, of a chunk of map_output_at_bytes. >= 0.
  Known map_output_ratio;
  /// beta: a chunk of x bytes makes output in proportion to x^beta; below 1 where a combiner finds
  /// more and more of the keys again. In (0, 1].
  Known map_output_growth{1, Origin::kDefault};
  /// Chunk that map_output_ratio was measured on; 0 = it holds for every size (growth 1).
  Bytes map_output_at_bytes = 0;
  /// What parts of a chunk make, whose keys have met fewer others, by rising sizes: for what steps
  /// hold meanwhile, and put on disk. Empty: as the growth says.
  std::vector<OutputPoint> map_output_points;
  /// Requested number of mappers; 0 = the planner chooses.
  std::int32_t num_mappers = 0;
  std::vector<LayerShape> layers;
  /// Set where the job is a loop; it then has one layer, which only writes the last state.
  std::optional<LoopShape> loop;
  /// Requested packing of all that moves between layers; nothing = the planner chooses.
  std::optional<Codec> codec;
  StoreShape store;
};

/// Says whether each mapper makes a vector: all its places, however much it reads. map_output_ratio
/// and map_output_growth say nothing then.
bool MakesVectors(const JobShape& shape);

/// Returns the output of a mapper that reads `chunk_bytes`: g_0 x (x / x0)^(beta - 1), or the
/// vector. 0 of no input.
double MapOutputBytes(const JobShape& shape, double chunk_bytes);

/// Returns that output per byte of the chunk; g_0 for an empty one.
double MapOutputRatio(const JobShape& shape, double chunk_bytes);

/// Returns what a part of the input of `bytes` makes, before packing: a power between two of
/// map_output_points and beyond them, or MapOutputBytes. Rising, concave where the points are. 0 of
/// no input.
double PartOutputBytes(const JobShape& shape, double bytes);

/// Returns what parts of a map step cost that reads `chunk_bytes`, > 0.
///
/// Model: output grows by beta; making a byte of output (before packing) takes as long as reading
///   kReadPerOutput bytes of input, so that its share of the time is g / (g + kReadPerOutput) with
///   g the output per byte of input.
PartCost MapPartCost(const JobShape& shape, double chunk_bytes);

/// Of a count of words of six digits, a half, a quarter and an eighth of 33 MB take 0.65, 0.34 and
/// 0.22 of the processor time of all of it, which makes 0.90 bytes per byte with beta = 0.31: the
/// model says 0.59, 0.37 and 0.25. Measured as ADR 0040 says.
inline constexpr double kReadPerOutput = 2;

/// Returns the size of a partial result of what shape.layers[layer] reads, bytes.
///
/// Model: a vector always has all its places. A table of layer 0, combined from what mappers made
/// of
///   `part` bytes of input together, is MapOutputBytes(part): as if one mapper had read them (the
///   law of beta, which finds keys again). Of later layers nothing is known of keys that meet
///   again: `part` is the sum of the bytes that its makers left.
double ElementBytes(const JobShape& shape, std::size_t layer, double part);

/// A worker's part of the disk of its work directory; zeros: not measured, which costs no time.
struct DiskProfile {
  double write_bytes_per_s = 0;
  double read_bytes_per_s = 0;
  /// What the page cache holds back before the disk has to write.
  double cached_bytes = 0;
};

/// One worker as the planner sees it.
struct WorkerProfile {
  std::string name;
  /// Compute rate relative to the unit worker: 2 = twice as fast. > 0.
  double compute_rate = 1;
  Origin compute_rate_origin = Origin::kDefault;
  std::int32_t slots = 1;
  Bytes memory_bytes = 0;
  /// What of it tables and pairs of one step of this job may take before they go to disk (ADR
  /// 0039); 0 = not known, or no limit.
  Bytes spill_above_bytes = 0;
  Bytes free_disk_bytes = 0;
  DiskProfile disk;
};

struct ClusterProfile {
  std::vector<WorkerProfile> workers;
  /// network.num_workers == workers.size().
  NetworkModel network;
  Origin network_origin = Origin::kDefault;
  /// Of the network's sharing fractions, and of its gap between transfers.
  Origin sharing_origin = Origin::kDefault;
  Origin gap_origin = Origin::kDefault;
};

}  // namespace weir::planner
