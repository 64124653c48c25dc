#pragma once

// Predicted times of a plan, computed from its graph and orders alone.

#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Start and finish of one step or transfer, seconds from the start of the plan.
struct Interval {
  Seconds start_s = 0;
  Seconds finish_s = 0;
};

/// What Predict found.
struct Prediction {
  std::vector<Interval> steps;      // by StepIndex
  std::vector<Interval> transfers;  // by TransferIndex
  /// Plan::rates_over_time: by transfer, its rates, the first from its start on. Others: empty.
  std::vector<std::vector<RateChange>> transfer_rates;
  Seconds makespan_s = 0;
  /// Steps and transfers that end at the makespan and, going backwards, what each waited for last,
  /// in time order.
  struct CriticalItem {
    bool is_transfer = false;
    std::int32_t index = 0;
  };
  std::vector<CriticalItem> critical_path;
  /// Seconds in which a worker neither computes nor moves bytes, by worker.
  std::vector<Seconds> idle_s;
};

/// Evaluates a plan event by event: every step and transfer starts as soon as what it waits for is
/// done and it heads the orders it stands in (ports, lanes, compute). Uses sizes, durations of
/// steps, the network model and the orders; ignores the builder's planned start times.
///
/// Model: a worker runs one step at a time, as the conductor has it: steps with an order of their
///   own (combine) and its other steps take turns, the first in compute_order of those that are
///   ready first. kStrict and kOvertake follow the port and lane orders exactly (no lateness exists
///   in a prediction). kFetchAll: fair sharing of ports and cuts (max-min) among all ready
///   transfers; with a fetch_limit, among those that each receiver has begun. kRates: each at its
///   rate, as soon as its ports and cuts have that much left (rate_room.h); where rates change
///   over time, as ports and cuts are divided whenever some begin or end (rate_allocation.h).
/// Errors: kInvalidArgument if the orders have a cycle or indices are out of range.
/// Thread-safety: pure; same input, same bits.
/// Time: O((steps + transfers) log) for ordered plans.
/// Checked by: tests/unit/planner_plan/predict_test.cc, and against the conductor in
///   tests/unit/master/conductor_machine_property_test.cc.
absl::StatusOr<Prediction> Predict(const Plan& plan);

}  // namespace weir::planner
