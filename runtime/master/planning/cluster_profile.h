#pragma once

// The cluster as the planner sees it: rates of the workers, and the network between them. Pure.
// Upstream: registered workers, options (given, measured), ShapeHistory (learned). Downstream:
// PlanRequest; Planning, which samples by it; what a master shows of its network.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/job/job_shape.h"
#include "runtime/master/learning/shape_history.h"
#include "runtime/master/options/master_options.h"
#include "runtime/master/workers/worker_table.h"

namespace weir::master {

/// Where the numbers of the network between these workers come from.
planner::Origin OriginOfNetwork(absl::Span<const RegisteredWorker> workers,
                                const MasterOptions& options);

/// What is known of the network between workers that do not share a file system: given, else
/// measured. What neither says is default.
NetworkSpec KnownNetwork(const MasterOptions& options);

/// Rate of a worker by its profile; one that was not measured counts as a unit worker a slot.
double ComputeRate(const RegisteredWorker& worker);

/// Slots of the worker for each core that it may keep busy, where that is less than one a slot; 1
/// otherwise, and where it does not say.
double SlotsACore(const v1::WorkerProfile& profile);

/// What tables and pairs of a step may have before they go to disk, where a job gets that share of
/// the worker's limit; without a limit what the worker says; 0 where it says nothing.
std::int64_t SpillAbove(const v1::WorkerProfile& profile, double memory_share);

/// Rates by worker of a plan that an earlier master made: as ComputeRate. One that has not
/// registered since (its `api` is null) counts as the mean of those who have. Requires: one has.
std::vector<double> ComputeRatesOfThoseBack(absl::Span<const RegisteredWorker> workers);

/// Returns these workers, in this order, and the network between them, by what was given and
/// measured. Rates that differ no more than measurements of equal machines do count as their mean;
/// a network that is known is paced. Requires: `workers` is not empty.
planner::ClusterProfile MakeClusterProfile(absl::Span<const RegisteredWorker> workers,
                                           const MasterOptions& options);

/// Corrects such a profile of `workers` by what runs taught: the workers' speeds, and the channel's
/// rate where it is neither given nor measured.
void ApplyLearnedRates(const ShapeHistory& learned, absl::Span<const RegisteredWorker> workers,
                       planner::ClusterProfile& cluster);

}  // namespace weir::master
