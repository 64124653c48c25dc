// Upstream: any builder, or a plan from outside. Downstream: plan_structure, plan_loads,
// check_loops, plan_graph, plan_times.

#include "planner/plan/check_plan.h"

#include "planner/plan/check_loops.h"
#include "planner/plan/plan_graph.h"
#include "planner/plan/plan_loads.h"
#include "planner/plan/plan_structure.h"
#include "planner/plan/plan_times.h"

namespace weir::planner {

absl::Status CheckPlan(const Plan& plan) {
  if (absl::Status status = CheckStructure(plan); !status.ok()) return status;
  if (absl::Status status = CheckLoads(plan); !status.ok()) return status;
  if (absl::Status status = CheckLoops(plan); !status.ok()) return status;
  const GraphRules rules =
      IsOrdered(plan.transfer_order) ? GraphRules::kDataAndOrders : GraphRules::kDataAndStore;
  if (absl::Status status = PlanGraph::Build(plan, rules).status(); !status.ok()) return status;
  return CheckTimes(plan);
}

}  // namespace weir::planner
