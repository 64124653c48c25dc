// Ways to go on whose transfers cannot be ordered.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "planner/edit/check_edit.h"
#include "planner/edit/edit_plan.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/plan_assembly.h"
#include "tests/unit/planner_edit/progress_of.h"
#include "tests/unit/planner_edit/three_by_three.h"

namespace weir::planner {
namespace {

using ::testing::HasSubstr;

// Two mappers and 80 reducers, each on a worker of its own, and rates that change over time: 160
// transfers. At 5 s of 20 the second mapper is lost.
EditCase LoseAMapperOfEighty() {
  NetworkModel network;
  network.num_workers = 82;
  network.seconds_per_byte = 1e-8;
  PlanAssembly assembly(network);
  absl::Status status = assembly.AddMappers({{0, 8000, 8000, 0, 20.0}, {1, 8000, 8000, 0, 20.0}});
  LayerDraft layer;
  for (WorkerIndex w = 2; w < 82; ++w) layer.reducers.push_back({w, 1.0 / 80});
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 1.0; };
  status.Update(assembly.AddReducers(layer, {}));
  EditCase made;
  made.before = assembly.TakePlan();
  status.Update(OrderByRatesOverTime(&made.before));
  EXPECT_EQ(status, absl::OkStatus());
  made.state = ProgressOf(made.before, *Predict(made.before), NothingDone(made.before), 5,
                          RunsStay::kToTheEnd);
  made.change.lost = {1};
  return made;
}

// Its 80 parts would make 6400 transfers, more than rates over time are planned for; 4 parts end as
// early as the mapper that goes on.
TEST(EditPlanTest, AWayThatCannotBeOrderedLeavesTheOthers) {
  EditCase edited = LoseAMapperOfEighty();
  absl::StatusOr<PlanEdit> edit = EditPlan(edited.before, edited.state, edited.change);
  ASSERT_EQ(edit.status(), absl::OkStatus());
  edited.edit = *std::move(edit);
  EXPECT_EQ(CheckEdit(edited.before, edited.state, edited.change, edited.edit), absl::OkStatus());
  EXPECT_EQ(edited.edit.plan.steps.size(), edited.before.steps.size() + 3);
  EXPECT_LT(edited.edit.prediction.makespan_s, 22);
  EXPECT_THAT(edited.edit.why, HasSubstr("Goes on in parts over the 4 that get free first"));
  EXPECT_THAT(edited.edit.why, HasSubstr("; in whole steps: "));
}

TEST(EditPlanTest, SaysWhyWhereNoWayCanBeOrdered) {
  EditCase edited = LoseAMapperOfEighty();
  edited.before.network.seconds_per_byte = 0;
  const absl::Status refused = EditPlan(edited.before, edited.state, edited.change).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("Rates over time are planned for"));
}

}  // namespace
}  // namespace weir::planner
