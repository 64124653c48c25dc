#pragma once

// The final store of a job's plan: which write steps there are and how many run at once.
// Upstream: even_plan, split_assembly, tree_plan, job_bound. Downstream: planner/order
// (plan_assembly.h, order_store.h).

#include <cstdint>

#include "absl/status/status.h"
#include "planner/job/job_shape.h"
#include "planner/load/chain.h"
#include "planner/order/plan_assembly.h"

namespace weir::planner {

/// Adds the write steps behind the last reducers, nothing with kParts. kParallel writes where the
/// reducers are; kOne writes on the worker that reduces most, so that least has to move. `begin_s`:
/// when the last layer starts, for orders by wanted start.
absl::Status AddStoreSteps(const StoreShape& store, const LayerDraft& last_reducers,
                           Seconds begin_s, PlanAssembly& assembly);

/// Limits how many write steps of an ordered plan run at once. Errors: those of OrderStore.
absl::Status LimitStore(const StoreShape& store, Plan& plan);

/// Returns l of the store: 1 with kOne; with kParallel as StoreShape::channels says; 0 = no limit.
std::int32_t StoreChannels(const StoreShape& store, const NetworkModel& network);

/// Tells the chain how its last layer's output is stored (FinalStore), in channel rates.
/// Requires: the chain has its channels, its rate and all its layers.
void SetFinalStore(const StoreShape& store, const NetworkModel& network, load::Chain& chain);

}  // namespace weir::planner
