#pragma once

// Rates of transfers that all run at once and share ports and cuts.
// Upstream: fetch_all, calibration (runtime/master). Downstream: nothing; pure arithmetic.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Flows and the resources that each uses, as a flat table.
struct SharingProblem {
  /// Bytes per second of each resource, > 0 and finite.
  std::vector<double> capacity;
  /// resources[resource_begin[f] .. resource_begin[f + 1]) are the resources of flow f, each at
  /// most once, at least one.
  std::vector<std::size_t> resource_begin;
  std::vector<std::int32_t> resources;
};

/// Adds a flow of `sender` to `receiver`: it uses the one's port out, the other's port in, and
/// every cut that it crosses.
///
/// Model: resources are the ports out by worker, the ports in by worker, and the cuts in the order
///   of `network`; capacity is to be filled in that order.
void AddFlow(const NetworkModel& network, WorkerIndex sender, WorkerIndex receiver,
             SharingProblem& problem);

/// Returns the ports and cuts that the transfers of a plan use, flow f being transfer f, each with
/// what paced transfers may take of it together (NetworkModel::PacedBytesPerS).
/// Requires: indices are in range, the network's rate is known.
SharingProblem PacedResources(const Plan& plan);

/// Divides the capacities among the flows in `active` by max-min fairness and writes rates[f], in
/// bytes per second.
///
/// Model: progressive filling. All rates rise together until a resource is full; its flows keep
///   that rate and the others rise on. No flow can then gain without a flow of equal or lower rate
///   losing.
/// Requires: `active` holds distinct flow numbers; rates->size() is the number of flows. Rates of
///   others stay.
/// Thread-safety: pure; same input, same bits. O(active * resources per flow + resources log) time.
/// Source: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, section 6.5.2 (max-min flow
///   control).
/// Checked by: tests/unit/planner_plan/fair_sharing_test.cc.
void MaxMinRates(const SharingProblem& problem, absl::Span<const std::int32_t> active,
                 std::vector<double>* rates);

/// The same where rates rise in proportion to `weights` (by flow, finite and > 0): flows of one
/// full resource get it in that proportion, so that those with bytes in that proportion end
/// together.
void WeightedMaxMinRates(const SharingProblem& problem, absl::Span<const std::int32_t> active,
                         absl::Span<const double> weights, std::vector<double>* rates);

}  // namespace weir::planner
