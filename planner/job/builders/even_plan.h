#pragma once

// The simplest plan of a job: everybody gets the same. Kept as the base line that other methods are
// compared with. Upstream: PlanJob. Downstream: plan_assembly, transfer_orders.

#include <cstdint>

#include "absl/status/statusor.h"
#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Builds a plan with even chunks, uniform load fractions and rotation order.
///
/// Model: mapper j = 0 .. m-1 runs on worker j mod n, reads input_bytes / m (to the nearest place
///   where the input can be cut; EvenChunks says how many are left then) and starts at (j + 1) * S
///   (004 counts mappers from 1); it takes A * bytes / compute_rate. Reducer k of a layer runs on
///   worker k mod n, gets 1/r of the keys and takes s + a * bytes / compute_rate. m and r are n
///   where the shape leaves them open. In round i of the rotation, producer j sends to consumer (j
///   + i) mod r, so that in each round every port is used at most once when m = r = n; transfers of
///   earlier rounds go first wherever a port or channel is free.
/// Requires: CheckJobShape and CheckCluster are OK.
/// Returns: the plan with orders and times; summary has makespan, bound of OrderBound and method
///   "even", no notes.
/// Errors: kInvalidArgument when a layer has more than kPairsMax pairs or a size exceeds 4e18
///   bytes.
/// Thread-safety: pure. Same input, same plan.
/// Source: 004 section 2 for the model; the rotation is the classical phase-by-phase all-to-all.
/// Checked by: tests/unit/planner_job/plan_job_test.cc, plan_job_property_test.cc.
absl::StatusOr<Plan> EvenPlan(const JobShape& shape, const ClusterProfile& cluster);

/// Builds a plan with the same chunks and load fractions whose receivers fetch from all senders at
/// once, or from at most `fetch_limit` > 0 of them in rotation order.
///
/// What runtimes without a plan do; the base line of every benchmark, and the better way where
/// pieces are too small to be worth a grant each.
/// Returns: as EvenPlan; method "fetch-all" or "fetch-N".
absl::StatusOr<Plan> FetchAllPlan(const JobShape& shape, const ClusterProfile& cluster,
                                  std::int32_t fetch_limit);

/// Whether transfers keep the rates that they begin with.
enum class Rates {
  kStay,      // OrderByRates
  kOverTime,  // OrderByRatesOverTime
};

/// Builds a plan with the same chunks and load fractions that moves everything at once, each
/// transfer at a rate of its own.
///
/// Returns: as EvenPlan; method "rates" or "rates-over-time".
/// Errors: also kInvalidArgument where the network is not paced (nothing measured or given: rates
///   of a guess would only slow), or has not room for so many.
absl::StatusOr<Plan> RatesPlan(const JobShape& shape, const ClusterProfile& cluster, Rates rates);

/// Builds a plan with the same chunks and load fractions whose ports carry `port_lanes` transfers
/// at a time (OrderByLanes of OrderBySlack), or with 0 as many as is predicted best: 4, 8, 16, ...
/// or all. An order with a gap each is better where it is little, and mappers are ready in waves.
///
/// Returns: as EvenPlan; method "lanes" or "lanes-N". Errors: as RatesPlan.
absl::StatusOr<Plan> LanesPlan(const JobShape& shape, const ClusterProfile& cluster,
                               std::int32_t port_lanes);

}  // namespace weir::planner
