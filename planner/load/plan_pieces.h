#pragma once

// A layer's schedule as the pieces that plan assembly takes. Whole bytes are assembly's business.
// Upstream: schedule_layer.h. Downstream: planner/order/plan_assembly.h, through planner/job.

#include <vector>

#include "planner/load/schedule_layer.h"
#include "planner/order/plan_assembly.h"

namespace weir::planner::load {

/// Returns one draft a piece, with starts `begin_s` + piece begin in seconds. A piece shorter than
/// `shortest_s` goes with the pair's piece before it, or after it, so that a grant is worth its
/// cost; a pair that has less in all is one piece.
std::vector<PieceDraft> DraftPieces(const LayerSchedule& schedule, Seconds time_unit_s,
                                    Seconds begin_s, Seconds shortest_s = 0);

/// Returns one draft a pair, started where the middle of its pieces leaves it: the schedule's order
/// with the least number of grants, for networks where starting a transfer costs time.
std::vector<PieceDraft> DraftPairs(const LayerSchedule& schedule, Seconds time_unit_s,
                                   Seconds begin_s);

}  // namespace weir::planner::load
