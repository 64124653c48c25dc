#pragma once

// A job's steps as drafts for plan assembly: what each mapper and reducer reads, makes and takes by
// the job's rates.
// Upstream: even_plan, split_assembly, tree_plan, loop_plan. Downstream:
// planner/order/plan_assembly.h.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/job/job_shape.h"
#include "planner/order/plan_assembly.h"

namespace weir::planner {

/// Returns mapper j on workers[j] with chunk_bytes[j]: starts at (j + 1) * S (004 counts mappers
/// from 1), takes the overhead, A * bytes / rate and what MapSpill says, makes MapOutputBytes.
/// Beside the overhead it takes no less than its part of its worker's InputDiskSeconds.
///
/// Requires: equal sizes.
/// Errors: kInvalidArgument when one would make more than 4e18 bytes.
absl::StatusOr<std::vector<MapperDraft>> DraftMappers(const JobShape& shape,
                                                      const ClusterProfile& cluster,
                                                      absl::Span<const Bytes> chunk_bytes,
                                                      absl::Span<const WorkerIndex> workers);

/// Returns the seconds until the disk has read what each worker maps (`bytes`, by worker), while it
/// reads for the others as well: zeros where its time is not known.
///
/// Model: all begin at once, one step at a time, and have equal parts of the disk while they read.
///   So worker w waits for the sum over workers v of min(bytes[v], bytes[w]), times
///   input_disk_seconds_per_byte: all of the input where it has as much as any other.
/// Checked by: tests/unit/planner_job/input_disk_test.cc.
std::vector<Seconds> InputDiskSeconds(const JobShape& shape, absl::Span<const double> bytes);

/// Says whether the worker that maps longest waits for the disk of the input, so that neither
/// faster workers nor more of them help.
/// Requires: a plan of this shape.
bool InputDiskLimits(const JobShape& shape, const ClusterProfile& cluster, const Plan& plan);

/// Returns reducer k of shape.layers[index] on workers[k] with load_fractions[k] of the bytes, or
/// what comes nearest to it where heavy keys cannot be divided (CutKeys); one takes
/// ReduceStepSeconds.
///
/// Requires: equal sizes; `shape` and `cluster` outlive the draft.
LayerDraft DraftReducers(const JobShape& shape, std::size_t index, std::size_t num_producers,
                         const ClusterProfile& cluster, absl::Span<const double> load_fractions,
                         absl::Span<const WorkerIndex> workers);

/// Returns what a step takes that reduces `input_bytes`, sections of `num_inputs` producers, of
/// shape.layers[index]: s + a * bytes / rate, and what ReduceSpill says; of the last layer, where
/// that was measured, not less than its part takes to be on disk while the others of its
/// `num_steps` steps write theirs, one a worker (StoreShape::disk_seconds_per_byte).
Seconds ReduceStepSeconds(const JobShape& shape, std::size_t index, const ClusterProfile& cluster,
                          WorkerIndex worker, double input_bytes, double num_inputs,
                          std::size_t num_steps);

/// Returns one piece a pair: in round i, producer j sends to consumer (j + i) mod num_consumers.
std::vector<PieceDraft> RotationPieces(std::int32_t num_producers, std::int32_t num_consumers);

/// Returns worker k mod num_workers for each of `count` steps.
std::vector<WorkerIndex> WorkersInTurn(std::int32_t count, std::int32_t num_workers);

}  // namespace weir::planner
