// Whatever becomes of workers and masters, a plan that is edited reads what is there
// (edited_run.h).

#include <cstdint>

#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "tests/unit/master/edited_run.h"
#include "tests/unit/master/random_plan.h"
#include "tests/unit/master/tree_plans.h"

namespace weir::master {
namespace {

RC_GTEST_PROP(ConductorEditsProperty, WhatIsReadIsThereWholeWhoeverIsLost, ()) {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const auto order =
      *rc::gen::element(planner::TransferOrder::kStrict, planner::TransferOrder::kOvertake,
                        planner::TransferOrder::kFetchAll, planner::TransferOrder::kRates);
  const auto sizes = *rc::gen::element(Sizes::kAsPlanned, Sizes::kAnyButNothing, Sizes::kAny);
  const int kills = *rc::gen::element(0, 1, 2, 3);
  const int slow = *rc::gen::element(0, 1, 2);
  EditedRun run(seed, RandomPlan(seed, order), sizes);
  const bool right = run.Run(kills, slow);
  RC_LOG() << "seed " << seed << ", order " << static_cast<int>(order) << ", sizes "
           << static_cast<int>(sizes) << ", " << kills << " kills, " << slow
           << " slow: " << run.wrong() << "\n";
  RC_TAG(run.num_edits());
  RC_ASSERT(right);
}

// Whatever is lost, slow, new, restarted or back in the middle of a tree.
RC_GTEST_PROP(ConductorEditsProperty, TreesCombineAllOnceWhoeverIsLost, ()) {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const auto sizes = *rc::gen::element(Sizes::kAsPlanned, Sizes::kAnyButNothing, Sizes::kAny);
  const int kills = *rc::gen::element(0, 1, 2, 3);
  const int slow = *rc::gen::element(0, 0, 1, 2);
  const int restarts = *rc::gen::element(0, 0, 1);
  const int joins = *rc::gen::element(0, 0, 1);
  const int back = *rc::gen::element(0, 0, 1, 2);
  EditedRun run(seed, RandomTreePlan(seed), sizes);
  const bool right = run.Run(kills, slow, restarts, joins, back);
  RC_LOG() << "seed " << seed << ", sizes " << static_cast<int>(sizes) << ", " << kills
           << " kills, " << slow << " slow, " << restarts << " restarts, " << joins << " joins, "
           << back << " back: " << run.wrong() << "\n";
  RC_TAG(run.num_edits());
  RC_ASSERT(right);
}

RC_GTEST_PROP(ConductorEditsProperty, AndWhoeverJoins, ()) {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const auto order =
      *rc::gen::element(planner::TransferOrder::kStrict, planner::TransferOrder::kOvertake,
                        planner::TransferOrder::kFetchAll, planner::TransferOrder::kRates);
  const auto sizes = *rc::gen::element(Sizes::kAsPlanned, Sizes::kAnyButNothing, Sizes::kAny);
  const int kills = *rc::gen::element(0, 0, 1, 2);
  const int slow = *rc::gen::element(0, 0, 1);
  const int restarts = *rc::gen::element(0, 0, 1);
  const int joins = *rc::gen::element(1, 2, 3);
  EditedRun run(seed, RandomPlan(seed, order), sizes);
  const bool right = run.Run(kills, slow, restarts, joins);
  RC_LOG() << "seed " << seed << ", order " << static_cast<int>(order) << ", sizes "
           << static_cast<int>(sizes) << ", " << kills << " kills, " << slow << " slow, "
           << restarts << " restarts, " << joins << " joins: " << run.wrong() << "\n";
  RC_CLASSIFY(run.num_steps_of_new_ones() > 0, "new ones work");
  RC_ASSERT(right);
}

RC_GTEST_PROP(ConductorEditsProperty, AndWhateverMasterIsRestarted, ()) {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const auto order =
      *rc::gen::element(planner::TransferOrder::kStrict, planner::TransferOrder::kOvertake,
                        planner::TransferOrder::kFetchAll, planner::TransferOrder::kRates);
  const auto sizes = *rc::gen::element(Sizes::kAsPlanned, Sizes::kAnyButNothing, Sizes::kAny);
  const int kills = *rc::gen::element(0, 0, 1, 2);
  const int slow = *rc::gen::element(0, 0, 1, 2);
  const int restarts = *rc::gen::element(1, 2, 3);
  EditedRun run(seed, RandomPlan(seed, order), sizes);
  const bool right = run.Run(kills, slow, restarts);
  RC_LOG() << "seed " << seed << ", order " << static_cast<int>(order) << ", sizes "
           << static_cast<int>(sizes) << ", " << kills << " kills, " << slow << " slow, "
           << restarts << " restarts: " << run.wrong() << "\n";
  RC_TAG(run.num_edits(), run.num_resumed());
  RC_ASSERT(right);
}

// Runs that went wrong once.
TEST(ConductorEditsTest, RunsThatWentWrongOnce) {
  EditedRun run(8102988151721931638U,
                RandomPlan(8102988151721931638U, planner::TransferOrder::kOvertake),
                Sizes::kAnyButNothing);
  EXPECT_TRUE(run.Run(/*kills=*/0, /*slow=*/2, /*restarts=*/2)) << run.wrong();
}

RC_GTEST_PROP(ConductorEditsProperty, AndWhoeverIsBackAtOnceWithSomeOfItsRuns, ()) {
  const auto seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const auto order =
      *rc::gen::element(planner::TransferOrder::kStrict, planner::TransferOrder::kOvertake,
                        planner::TransferOrder::kFetchAll, planner::TransferOrder::kRates);
  const auto sizes = *rc::gen::element(Sizes::kAsPlanned, Sizes::kAnyButNothing, Sizes::kAny);
  const int back = *rc::gen::element(1, 2, 3);
  const int kills = *rc::gen::element(0, 0, 1, 2);
  const int slow = *rc::gen::element(0, 0, 1);
  const int restarts = *rc::gen::element(0, 0, 1, 2);
  EditedRun run(seed, RandomPlan(seed, order), sizes);
  const bool right = run.Run(kills, slow, restarts, 0, back);
  RC_LOG() << "seed " << seed << ", order " << static_cast<int>(order) << ", sizes "
           << static_cast<int>(sizes) << ", " << back << " back, " << kills << " kills, " << slow
           << " slow, " << restarts << " restarts: " << run.wrong() << "\n";
  RC_TAG(run.num_runs_kept() > 0);
  RC_ASSERT(right);
}

}  // namespace
}  // namespace weir::master
