#pragma once

// What steps put on disk because their memory does not hold it, and how long that takes. Upstream:
// JobShape, WorkerProfile. Downstream: job_drafts and tree builders (durations), PlanJob (steps of
// the plan), runtime/master/learning (what a run took without).

#include <cstddef>
#include <functional>

#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// So many files of one size become one (SlotSpills::kTogether).
inline constexpr double kFilesTogether = 16;

/// What one slot puts on disk, bytes.
struct SlotFiles {
  /// Sorted files, each as large as the memory made it.
  double first_bytes = 0;
  /// Files that others were merged into, so that few are read at a time; each byte once a level.
  double merged_bytes = 0;

  double bytes() const { return first_bytes + merged_bytes; }
};

/// How much of what comes to a slot is in memory when that is full: the first time, and each time
/// after that. In any unit.
struct SlotRoom {
  double first = 0;
  double again = 0;
};

/// Returns the files of a slot to which `load` comes, in the unit of `room`; none where it fits.
///
/// Model: a file each time the memory is full and one of what is left at the end; 16 files become
///   one, 16 such one again, and so on. bytes_of(x) is the size of a file of what x brought:
///   concave where keys come again, with bytes_of(0) = 0.
/// Source: ADR 0039, jobs/engine/spill/slot_spills.cc (SlotSpills::Add).
/// Requires: room.first >= room.again > 0. Never negative; rising in `load`; first_bytes falls in
/// `room`. Checked by: tests/unit/planner_job/step_spill_test.cc.
SlotFiles FilesOfSlot(double load, const SlotRoom& room,
                      const std::function<double(double)>& bytes_of);

/// What a step puts on disk.
struct StepSpill {
  double bytes = 0;     // of all files
  Seconds seconds = 0;  // that it takes longer for
};

/// Returns what a mapper of `input_bytes` puts on disk.
///
/// Model: its slots read equal parts. Where values are combined, a slot's table, and as much again
///   for sorting it, may have the slot's part of WorkerProfile::spill_above_bytes; what a part of
///   the chunk makes says PartOutputBytes. Otherwise pairs may have it all; where they stay in
///   place in the input (ADR 0036), half of it at most, which stays taken once they are on disk.
///   Nothing where the size of the map output is a guess, of loops and of vectors.
/// Source: ADR 0039, combine_layer.h (EndBlock), spilling_pairs.cc, group_layer.h (Collect).
/// Requires: CheckJobShape. Thread-safety: pure.
StepSpill MapSpill(const JobShape& shape, const ClusterProfile& cluster, WorkerIndex worker,
                   double input_bytes);

/// Returns what a step puts on disk that reduces `input_bytes`, the sections of `num_inputs`
/// producers, of shape.layers[layer].
///
/// Model: slots fold neighbouring sections, or, where there are fewer than slots, parts of one. Of
///   layer 0 the union of u of them is that of mappers who read as much together; of later layers
///   nothing is known of keys that meet again. One section has no key twice: of it the last layer
///   sorts pairs, an inner one, where it has blocks for all slots, holds nothing; nor does who
///   reduces without Combine and merges files. Where another layer follows, what is emitted for it
///   counts as of a mapper, in what memory the tables leave, or, where slots share what is merged,
///   its pieces.
/// Source: as MapSpill, combine_layer.h (FoldInputs), combine_one_input.h, slot_sections.h,
/// shared_groups.h, layered_program.h (ReduceAndMap). Requires: CheckJobShape; num_inputs >= 0.
/// Thread-safety: pure.
StepSpill ReduceSpill(const JobShape& shape, std::size_t layer, const ClusterProfile& cluster,
                      WorkerIndex worker, double input_bytes, double num_inputs);

/// Says of each map and reduce step what it puts on disk, by the shape that the plan was built
/// from. Durations have it already.
void MarkSpills(const JobShape& shape, const ClusterProfile& cluster, Plan& plan);

/// Returns the time in which `bytes` are sorted, written, read and merged by a step of that layer
/// (0 = mappers), on a worker of unit rate, without that of the disk.
Seconds SpillComputeSeconds(const JobShape& shape, std::size_t step_layer, double bytes);

}  // namespace weir::planner
