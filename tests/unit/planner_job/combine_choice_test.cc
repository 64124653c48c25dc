// When PlanJob combines along a tree, and what its notes say of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "planner/job/builders/plan_job.h"
#include "planner/job/builders/tree_plan.h"
#include "planner/plan/check_combined.h"
#include "planner/plan/check_plan.h"
#include "tests/unit/planner_job/table_job.h"

namespace weir::planner {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Eight hosts behind one channel; every mapper finds the same keys, so a union is hardly larger
// than its parts.
JobShape FewKeys() {
  JobShape shape = TableJobOf(0.02, 125'000'000);
  shape.layers[0].reduce_seconds_per_byte.value = 20e-9;
  shape.layers[0].output_ratio.value = 0.125;
  shape.layers[0].num_reducers = 1;
  return shape;
}

// Every mapper has keys of its own.
JobShape ManyKeys() {
  JobShape shape = FewKeys();
  shape.map_output_growth.value = 1;
  shape.layers[0].num_reducers = 0;
  return shape;
}

ClusterProfile EightHosts() {
  ClusterProfile cluster;
  cluster.workers.resize(8);
  cluster.network.num_workers = 8;
  cluster.network.seconds_per_byte = 1e-7;
  return cluster;
}

Plan PlanOf(const JobShape& shape, std::optional<CombineChoice> combine) {
  PlanningOptions options;
  options.combine = combine;
  absl::StatusOr<Plan> plan = PlanJob(shape, EightHosts(), options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
  return *std::move(plan);
}

TEST(CombineChoiceTest, NamesAreParsed) {
  EXPECT_EQ(*ParseCombineChoice(""), std::nullopt);
  EXPECT_EQ(*ParseCombineChoice("auto"), CombineChoice::kAuto);
  EXPECT_EQ(*ParseCombineChoice("tree"), CombineChoice::kTree);
  EXPECT_EQ(*ParseCombineChoice("shuffle"), CombineChoice::kShuffle);
  EXPECT_EQ(ParseCombineChoice("forest").status().message(),
            "unknown way to combine 'forest'; ways are: auto, tree, shuffle");
}

TEST(CombineChoiceTest, AutoTakesATreeThatEndsSooner) {
  const Plan tree = PlanOf(FewKeys(), std::nullopt);
  const Plan shuffle = PlanOf(FewKeys(), CombineChoice::kShuffle);
  EXPECT_EQ(tree.summary.method, "tree");
  EXPECT_FALSE(CombinedLayers(tree).empty());
  EXPECT_EQ(shuffle.summary.method, "load");
  EXPECT_LT(tree.summary.makespan_s, shuffle.summary.makespan_s * (1 - kTreeGain));
  EXPECT_THAT(tree.summary.notes,
              Contains(::testing::AllOf(StartsWith("Of "), HasSubstr("tree: "),
                                        HasSubstr("; next "), HasSubstr(" longer."))));
  EXPECT_THAT(tree.summary.notes, Contains(StartsWith("Compared: shuffle: ")));
  EXPECT_THAT(tree.summary.notes,
              Contains(StartsWith("Compared: shuffle, gathered into one file: ")));
  EXPECT_THAT(tree.summary.notes,
              Contains(StartsWith("By computing alone, no reduction tree takes less than ")));
}

// A million bins of which most are empty; eight reducers share what one root takes alone.
TEST(CombineChoiceTest, TreesArePackedWhereThatPaysWhateverTheShuffleDoes) {
  JobShape shape = FewKeys();
  shape.layers[0].num_reducers = 0;
  ElementShape& element = shape.layers[0].element;
  element.kind = ElementShape::Kind::kVector;
  element.places = 1'000'000;
  element.place_bytes = 8;
  shape.layers[0].packed = {{Codec::kLz4, {0.07, Origin::kSampled}}};
  const Plan packed = PlanOf(shape, CombineChoice::kTree);
  EXPECT_EQ(packed.run_codec, std::vector<Codec>{Codec::kLz4});
  EXPECT_THAT(packed.summary.notes,
              Contains("Packed before it moves: map output by lz4 to 7.0 %."));
  shape.codec = Codec::kNone;
  const Plan plain = PlanOf(shape, CombineChoice::kTree);
  EXPECT_TRUE(plain.run_codec.empty());
  EXPECT_LT(packed.summary.makespan_s, plain.summary.makespan_s);
  shape.codec = Codec::kLz4;
  EXPECT_EQ(PlanOf(shape, CombineChoice::kTree).run_codec, packed.run_codec);
}

TEST(CombineChoiceTest, AShuffleThatStandsIsPlannedAsEver) {
  const JobShape shape = ManyKeys();
  JobShape without = shape;
  without.layers[0].element = {};
  const Plan plan = PlanOf(shape, std::nullopt);
  const Plan before = PlanOf(without, std::nullopt);
  EXPECT_EQ(plan.summary.notes, before.summary.notes);
  EXPECT_EQ(plan.summary.makespan_s, before.summary.makespan_s);
  EXPECT_EQ(plan.send_order, before.send_order);
}

TEST(CombineChoiceTest, WhoeverAsksIsToldWhatWasCompared) {
  const Plan plan = PlanOf(ManyKeys(), CombineChoice::kAuto);
  EXPECT_EQ(plan.summary.method, "load");
  EXPECT_THAT(plan.summary.notes,
              Contains(HasSubstr(" ways to bring partial results together: shuffle, ")));
  EXPECT_THAT(plan.summary.notes, Contains(StartsWith("Compared: tree: ")));
  EXPECT_THAT(PlanOf(ManyKeys(), CombineChoice::kShuffle).summary.notes,
              Not(Contains(StartsWith("Compared: "))));
}

TEST(CombineChoiceTest, ATreeThatWasAskedForIsTaken) {
  const Plan plan = PlanOf(ManyKeys(), CombineChoice::kTree);
  EXPECT_EQ(plan.summary.method, "tree");
  EXPECT_THAT(plan.summary.notes,
              Contains(::testing::AllOf(StartsWith("Of "), HasSubstr("; next shuffle, "),
                                        HasSubstr(" shorter."))));
  PlanningOptions even{PlanMethod::kEven};
  even.combine = CombineChoice::kTree;
  EXPECT_EQ(PlanJob(ManyKeys(), EightHosts(), even)->summary.method, "tree");
  even.combine = CombineChoice::kAuto;
  EXPECT_EQ(PlanJob(FewKeys(), EightHosts(), even)->summary.method, "even");
}

TEST(CombineChoiceTest, WithoutCombineATreeIsRefusedByName) {
  JobShape shape = FewKeys();
  shape.layers[0].element = {};
  PlanningOptions options;
  options.combine = CombineChoice::kTree;
  EXPECT_THAT(std::string(PlanJob(shape, EightHosts(), options).status().message()),
              HasSubstr("job words has no Combine, so partial results cannot meet"));
}

TEST(CombineChoiceTest, OutputHasTheFilesThatWereAskedFor) {
  JobShape shape = FewKeys();
  const auto reducers = [](const Plan& plan) {
    std::int64_t count = 0;
    for (const ComputeStep& step : plan.steps) count += step.kind == StepKind::kReduce ? 1 : 0;
    return count;
  };
  shape.layers[0].num_reducers = 0;
  EXPECT_EQ(reducers(PlanOf(shape, CombineChoice::kTree)), 1);
  shape.layers[0].num_reducers = 3;
  EXPECT_EQ(reducers(PlanOf(shape, CombineChoice::kTree)), 3);
  EXPECT_EQ(reducers(PlanOf(shape, std::nullopt)), 3);
}

}  // namespace
}  // namespace weir::planner
