#include "tests/unit/planner_edit/three_by_three.h"

#include <utility>

#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "tests/unit/planner_edit/progress_of.h"

namespace weir::planner {

Plan ThreeByThree() {
  NetworkModel network;
  network.num_workers = 3;
  network.seconds_per_byte = 0.01;
  PlanAssembly assembly(network);
  absl::Status status =
      assembly.AddMappers({{0, 300, 300, 0, 10.0}, {1, 300, 300, 0, 10.0}, {2, 300, 300, 0, 10.0}});
  const LayerDraft layer{{{0, 1.0 / 3}, {1, 1.0 / 3}, {2, 1.0 / 3}}, 1, [](WorkerIndex, Bytes b) {
                           return 0.01 * static_cast<double>(b);
                         }};
  status.Update(assembly.AddReducers(layer, {{0, 1}, {1, 2}, {2, 0}, {0, 2}, {1, 0}, {2, 1}}));
  Plan plan = assembly.TakePlan();
  status.Update(OrderByPriority(&plan));
  if (!status.ok()) plan.steps.clear();
  return plan;
}

EditCase LoseAt(Seconds now_s, std::vector<WorkerIndex> lost) {
  EditCase made;
  made.before = ThreeByThree();
  made.state = ProgressOf(made.before, *Predict(made.before), NothingDone(made.before), now_s,
                          RunsStay::kToTheEnd);
  made.change.lost = std::move(lost);
  made.edit = *EditPlan(made.before, made.state, made.change);
  return made;
}

EditCase ChangeAtTheStart(PlanChange change) {
  EditCase made;
  made.before = ThreeByThree();
  made.state = NothingDone(made.before);
  made.change = std::move(change);
  made.edit = *EditPlan(made.before, made.state, made.change);
  return made;
}

}  // namespace weir::planner
