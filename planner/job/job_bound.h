#pragma once

// What no split of a job's load can beat.
// Upstream: PlanJob. Downstream: notes, summaries, tests.

#include "absl/status/statusor.h"
#include "planner/job/job_shape.h"

namespace weir::planner {

/// Returns a lower bound on the makespan of every plan of the job: any numbers of mappers and
/// reducers that the shape leaves open (at most one mapper a worker then), any chunks, any load
/// fractions, any order.
///
/// Model: a reducer waits for all mappers, a layer for the layer before. With A, S, a_p, s_p, V_p
///   as in JobShape and the fastest workers first:
///     compute:  T >= T_map + sum_p (s_p + a_p V_p / sum of rates),  T_map from sum_w rate_w (T - w
///     S)+ = A V, and not less than S + A u / rate_max for the largest uncut range u; network:  let
///     d be the largest share of the keys on one worker. That worker alone reduces for s_1 + a_1 d
///     V_1 / rate;
///       whatever share x of the input it maps itself, it maps and reduces for (A V x + a_1 d V_1)
///       / rate, receives d (1 - x) V_1 and sends x (1 - d) V_1 through its port; at least (1 - d)
///       of every mapper's output moves, so the layer's cut bound with c (1 - d) and equal
///       receivers holds. The bound is the least over d of the larger of the two; between grid
///       points d is taken on the side that lowers it.
///     racks: RackBound of every level of cuts that lead into or out of a set of workers.
///   Map output that grows with a power below 1 of the chunk is least when one mapper reads all, so
///   that is what the network has to move at least.
/// Proven: volume arguments; the finishing order of the mappers by 004, theorem 4.1 (equal
///   receivers).
/// Requires: CheckJobShape and CheckCluster are OK. Thread-safety: pure.
/// Checked by: tests/unit/planner_job/load_plan_test.cc.
Seconds JobLowerBound(const JobShape& shape, const ClusterProfile& cluster);

/// Returns a lower bound on the makespan of every plan of the job whose layers are combined along
/// trees where they can be: any mappers, any trees, any number of roots that the shape leaves open.
///
/// Model: the compute part of JobLowerBound. The union of all elements is what the roots reduce at
///   least; a vector has its size whoever holds it.
/// Proven: volume arguments. Requires and errors: as JobLowerBound.
/// Checked by: tests/unit/planner_job/tree_plan_property_test.cc.
Seconds CombinedLowerBound(const JobShape& shape, const ClusterProfile& cluster);

/// Returns how many full-rate transfers can run at once: l where the network is one limited total;
/// otherwise the number at which an all-to-all of equal pieces between all workers is held up by
/// its busiest cut or port. Cuts carry rate, so slow ports change nothing in that: a transfer of
/// theirs takes a part of a channel for as much longer.
std::int32_t EffectiveChannels(const NetworkModel& network);

}  // namespace weir::planner
