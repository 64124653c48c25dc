#pragma once

// Plans of a split: its steps with transfers between them, in one of several orders. Upstream:
// LoadPlan. Downstream: planner/load (schedules), plan_assembly, transfer_orders.

#include <vector>

#include "absl/status/statusor.h"
#include "planner/job/builders/load_split.h"
#include "planner/job/job_shape.h"
#include "planner/load/chain.h"
#include "planner/load/plan_pieces.h"
#include "planner/plan/plan.h"
#include "planner/plan/units.h"

namespace weir::planner {

/// Into which pieces the sections of a plan are cut, and in which order these are sent.
enum class PieceOrder {
  kRotation,       // whole sections, each mapper beginning with another reducer; list scheduling
  kPairsByList,    // whole sections in the schedule's order; list scheduling
  kPairsByStart,   // whole sections, by their begin in the schedule
  kPieces,         // the schedule's pieces, by their begin
  kFetchAll,       // whole sections, without an order
  kRates,          // whole sections, all at once, each at a rate of its own
  kRatesOverTime,  // whole sections, as soon as their runs are there, at rates that change
};

/// The communication schedule of a layer, with the seconds of its unit and its begin.
struct TimedSchedule {
  load::LayerSchedule schedule;
  Seconds time_unit_s = 0;
  Seconds begin_s = 0;
};

/// Returns one schedule a layer but the last. Errors: those of ScheduleLayer.
absl::StatusOr<std::vector<TimedSchedule>> SchedulesOf(const load::Chain& chain,
                                                       const LoadSplit& split);

/// Builds the plan of a split. `schedules` may be empty for kRotation, kFetchAll, kRates and
/// kRatesOverTime.
/// Errors: those of PlanAssembly and of the orders.
absl::StatusOr<Plan> AssembleSplit(const JobShape& shape, const ClusterProfile& cluster,
                                   const LoadSplit& split,
                                   const std::vector<TimedSchedule>& schedules, PieceOrder order);

}  // namespace weir::planner
