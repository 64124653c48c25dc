#include "planner/plan/check_combined.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <utility>

#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"

namespace weir::planner {
namespace {

using ::testing::HasSubstr;

// Steps 0, 1, 2 map on workers 0, 1, 2. Worker 0 combines places [0, 2) in step 3 and [2, 4) in
// step 4, and reduces both in step 5. Sections: 3 into step 3, 3 into step 4, 2 into step 5.
Plan Combined() {
  Plan plan;
  plan.network.num_workers = 3;
  plan.network.seconds_per_byte = 1;
  plan.transfer_order = TransferOrder::kStrict;
  plan.compute_order.resize(3);
  const auto add = [&](StepKind kind, std::int32_t layer, std::int32_t index, WorkerIndex worker) {
    ComputeStep step;
    step.kind = kind;
    step.layer = layer;
    step.index_in_layer = index;
    step.worker = worker;
    step.duration_s = 1;
    plan.compute_order[static_cast<std::size_t>(worker)].push_back(
        static_cast<StepIndex>(plan.steps.size()));
    plan.steps.push_back(step);
  };
  for (std::int32_t j = 0; j < 3; ++j) {
    add(StepKind::kMap, 0, j, j);
    plan.steps.back().input_begin = 10 * j;
    plan.steps.back().input_end = 10 * j + 10;
    plan.steps.back().input_bytes = 10;
    plan.steps.back().output_bytes = 8;
  }
  for (std::int32_t half = 0; half < 2; ++half) {
    add(StepKind::kCombine, 1, half, 0);
    ComputeStep& combine = plan.steps.back();
    combine.input_bytes = 12;
    combine.output_bytes = 4;
    combine.after_steps = {0};
    const StepIndex consumer = 3 + half;
    const IndexRange places{2 * half, 2 * half + 2};
    plan.sections.push_back({0, consumer, 4, places});
    for (StepIndex producer : {1, 2}) {
      plan.sections.push_back({producer, consumer, 4, places});
      combine.after_transfers.push_back(static_cast<TransferIndex>(plan.transfers.size()));
      plan.transfers.push_back(Transfer{producer, consumer, producer, 0, 0, 4});
    }
  }
  add(StepKind::kReduce, 1, 0, 0);
  ComputeStep& reduce = plan.steps.back();
  reduce.input_bytes = 8;
  reduce.output_bytes = 8;
  reduce.load_fraction = 1;
  reduce.key_end = 1;
  reduce.after_steps = {3, 4};
  plan.sections.push_back({3, 5, 4, IndexRange{0, 2}});
  plan.sections.push_back({4, 5, 4, IndexRange{2, 4}});
  EXPECT_EQ(OrderByPriority(&plan), absl::OkStatus());
  return plan;
}

TEST(CheckCombinedTest, EveryPlaceOnceIsRight) {
  const Plan plan = Combined();
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_EQ(CheckOperandOrder(plan), absl::OkStatus());
  EXPECT_THAT(CombinedLayers(plan), ::testing::ElementsAre(1));
}

TEST(CheckCombinedTest, KeysStandForPlaces) {
  // The reduce step's keys are all places, so one joined section needs no range of its own.
  Plan plan = Combined();
  plan.sections[3].consumer = plan.sections[4].consumer = plan.sections[5].consumer = 4;
  plan.sections[7].indexes = std::nullopt;
  EXPECT_THAT(std::string(CheckCombined(plan).message()), HasSubstr("takes places [0, 4)"));
}

TEST(CheckCombinedTest, StepsMayReduceWhatWasNotCombined) {
  // Places [2, 4) of steps 0 to 2 go to the reduce step directly.
  Plan plan = Combined();
  plan.sections[3].consumer = plan.sections[4].consumer = plan.sections[5].consumer = 5;
  plan.sections.pop_back();
  plan.steps[4].layer = 7;
  EXPECT_EQ(CheckCombined(plan), absl::OkStatus());
}

TEST(CheckCombinedTest, WhereThereIsNoPlaceEachStepIsReadAllTheSame) {
  Plan plan = Combined();
  for (Section& section : plan.sections) {
    section.bytes = 0;
    section.indexes = IndexRange{0, 0};
  }
  for (Transfer& transfer : plan.transfers) transfer.bytes = 0;
  for (ComputeStep& step : plan.steps) {
    step.output_bytes = 0;
    if (!step.kind->reads_input()) step.input_bytes = 0;
  }
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  ASSERT_EQ(CheckPlan(plan), absl::OkStatus());
  std::erase_if(plan.sections, [](const Section& section) { return section.producer == 2; });
  std::erase_if(plan.transfers, [](const Transfer& transfer) { return transfer.producer == 2; });
  for (ComputeStep& step : plan.steps) step.after_transfers.clear();
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const auto consumer = static_cast<std::size_t>(plan.transfers[t].consumer);
    plan.steps[consumer].after_transfers.push_back(static_cast<TransferIndex>(t));
  }
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  EXPECT_THAT(std::string(CheckPlan(plan).message()),
              HasSubstr("Step 2 makes a run of layer 0 that no step reads; the last layer is 1"));
}

TEST(CheckCombinedTest, ShufflesAreNotItsBusiness) {
  Plan plan = Combined();
  plan.steps[5].kind = StepKind::kWrite;
  EXPECT_TRUE(CombinedLayers(plan).empty());
  EXPECT_EQ(CheckCombined(plan), absl::OkStatus());
}

struct BrokenFold {
  const char* message;
  void (*apply)(Plan&);
};

void PrintTo(const BrokenFold& mutation, std::ostream* out) { *out << mutation.message; }

class CheckCombinedMutationTest : public ::testing::TestWithParam<BrokenFold> {};

TEST_P(CheckCombinedMutationTest, IsRefused) {
  Plan plan = Combined();
  GetParam().apply(plan);
  EXPECT_THAT(std::string(CheckCombined(plan).message()), HasSubstr(GetParam().message));
}

void Drop(Plan& plan, std::size_t section) {
  const Section& dropped = plan.sections[section];
  plan.steps[static_cast<std::size_t>(dropped.producer)].output_bytes -= dropped.bytes;
  plan.sections.erase(plan.sections.begin() + static_cast<std::ptrdiff_t>(section));
}

const BrokenFold kMutations[] = {
    {"Step 5 gets through section 5, of places [0, 2), nothing of step 1; each step of layer 0 "
     "must count once",
     [](Plan& p) { Drop(p, 1); }},
    {"Step 5 reduces layer 1 but no section brings it places [2, 4) of what layer 0 made",
     [](Plan& p) { p.sections.pop_back(); }},
    {"Step 5 reduces layer 1 but no section brings it places [0, 2)",
     [](Plan& p) { p.sections.erase(p.sections.begin() + 6); }},
    {"Section 7 takes places [1, 4) from step 4, which holds none of places [1, 2)",
     [](Plan& p) { p.sections[7].indexes->begin = 1; }},
    {"Section 6 takes places [0, 3) from step 3, which holds none of places [2, 3)",
     [](Plan& p) { p.sections[6].indexes->end = 3; }},
    {"Step 5 gets through section 6, of places [0, 1), step 2 twice",
     [](Plan& p) {
       p.sections[5].indexes = IndexRange{0, 1}, p.sections[5].consumer = 3;
     }},
    {"Step 5 gets through section 6, of places [0, 2), several steps not at all or more than once",
     [](Plan& p) {
       p.sections[0].indexes = p.sections[1].indexes = IndexRange{2, 4};
     }},
    {"Step 4 has index_in_layer 0; the 2 combine steps of layer 1 must be numbered from 0",
     [](Plan& p) { p.steps[4].index_in_layer = 0; }},
    {"Step 4 has index_in_layer 2", [](Plan& p) { p.steps[4].index_in_layer = 2; }},
    {"Section 2 does not say which places of step 2 combine step 3 reads",
     [](Plan& p) { p.sections[2].indexes = std::nullopt; }},
    {"Step 1 makes 8 bytes, but its sections hold 9", [](Plan& p) { ++p.sections[1].bytes; }},
    {"Section 7: step 5 of layer 1 reads step 4, a combine step of layer 2",
     [](Plan& p) { p.steps[4].layer = 2; }},
    {"Section 6: step 5 of layer 2 reads combine step 3 of layer 1",
     [](Plan& p) {
       ComputeStep reduce = p.steps[5];
       p.steps[5].layer = 2;
       p.steps.push_back(reduce);
       p.sections.push_back({4, 6, 4, IndexRange{2, 4}});
     }},
    {"Step 6 of layer 1 makes places [1, 4), which no section takes to layer 1",
     [](Plan& p) {
       p.steps.push_back(p.steps[4]);
       p.steps[6].index_in_layer = 2;
       p.sections.push_back({4, 6, 2, IndexRange{2, 3}});
       p.sections.push_back({3, 6, 1, IndexRange{1, 2}});
       p.sections.push_back({4, 6, 2, IndexRange{3, 4}});
     }},
    {"combines what comes from itself",
     [](Plan& p) {
       p.sections.push_back({3, 4, 4, IndexRange{0, 2}});
       p.sections.push_back({4, 3, 4, IndexRange{0, 2}});
     }},
    {"Section 6 brings places [0, 4) to step 5, whose keys are places [2, 4)",
     [](Plan& p) { p.steps[5].key_begin = 0.5; }},
    {"Step 6 reduces layer 1 but no section brings it places [2, 4)",
     [](Plan& p) {
       p.sections.pop_back();
       p.steps.push_back(p.steps[5]);
       p.steps[5].key_end = p.steps[6].key_begin = 0.5;
     }},
};

INSTANTIATE_TEST_SUITE_P(All, CheckCombinedMutationTest, ::testing::ValuesIn(kMutations));

TEST(CheckCombinedTest, SwappedOperandsBreakTheOrderOnly) {
  Plan plan = Combined();
  std::swap(plan.sections[1], plan.sections[2]);
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_THAT(
      std::string(CheckOperandOrder(plan).message()),
      HasSubstr("Step 3 folds operand 2 of layer 0 onto operands up to 0, of places [0, 2): "
                "they are not in their order"));
}

// Whose upper half begins in the middle of so many places.
Plan CombinedOf(std::int64_t num_places) {
  Plan plan = Combined();
  for (Section& section : plan.sections) {
    for (std::int64_t* place : {&section.indexes->begin, &section.indexes->end}) {
      *place = *place == 4 ? num_places : *place * (num_places / 4);
    }
  }
  return plan;
}

TEST(CheckCombinedTest, PlacesAreAsManyAsKeysTellApart) {
  EXPECT_EQ(CheckPlan(CombinedOf(kIndexPlacesMax)), absl::OkStatus());
  for (const std::int64_t more :
       {kIndexPlacesMax + 1, 2 * kIndexPlacesMax, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_THAT(std::string(CheckPlan(CombinedOf(more)).message()),
                HasSubstr("at most 9007199254740992 are told apart"));
  }
}

TEST(CheckCombinedTest, PlanIsRefusedByCheckPlan) {
  Plan plan = Combined();
  plan.steps[4].index_in_layer = 0;
  EXPECT_THAT(std::string(CheckPlan(plan).message()), HasSubstr("must be numbered from 0"));
}

}  // namespace
}  // namespace weir::planner
