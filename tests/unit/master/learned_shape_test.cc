// What runs teach, and what is similar.

#include "runtime/master/learning/learned_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "planner/job/builders/plan_job.h"
#include "planner/job/step_spill.h"
#include "planner/plan/predict/predict.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/learning/key_growth.h"
#include "runtime/master/learning/shape_history.h"

namespace weir::master {
namespace {

using ::testing::HasSubstr;

struct Example {
  planner::JobShape shape;
  planner::ClusterProfile cluster;
  planner::Plan plan;
  planner::ActualRun actual;
  CodecTrials codec_trials;
};

/// A job on two workers that went as its numbers say, but `slower` times as slow.
Example MakeExample(double slower, std::optional<planner::Codec> codec = std::nullopt) {
  Example example;
  example.shape.codec = codec;
  example.shape.job = "wordcount";
  example.shape.input_bytes = 1'000'000'000;
  example.shape.map_seconds_per_byte.value = 1e-8;
  example.shape.map_overhead_s.value = 0.01;
  example.shape.map_output_ratio.value = 0.1;
  planner::LayerShape layer;
  layer.reduce_seconds_per_byte.value = 1e-8;
  layer.startup_s.value = 0.02;
  layer.output_ratio.value = 1;
  layer.num_reducers = 2;
  if (codec) layer.packed = {{*codec, {0.25, planner::Origin::kFlag}}};
  example.shape.layers = {layer};
  example.shape.num_mappers = 2;
  example.cluster.workers.resize(2);
  example.cluster.workers[0].name = "a";
  example.cluster.workers[1].name = "b";
  example.cluster.network.num_workers = 2;
  example.cluster.network.seconds_per_byte = 1e-8;
  example.plan = *planner::PlanJob(example.shape, example.cluster, {planner::PlanMethod::kEven});
  const planner::Prediction predicted = *planner::Predict(example.plan);
  for (std::size_t s = 0; s < example.plan.steps.size(); ++s) {
    const planner::ComputeStep& step = example.plan.steps[s];
    const double overhead = step.kind == planner::StepKind::kMap ? 0.01 : 0.02;
    const double took = overhead + (step.duration_s - overhead) * slower;
    example.actual.steps.push_back({predicted.steps[s].start_s, predicted.steps[s].start_s + took});
    example.actual.step_input_bytes.push_back(step.input_bytes);
    example.actual.step_output_bytes.push_back(step.output_bytes);
    const bool packed = codec && step.kind == planner::StepKind::kMap;
    example.actual.step_unpacked_output_bytes.push_back(packed ? 4 * step.output_bytes
                                                               : step.output_bytes);
  }
  example.actual.transfers = predicted.transfers;
  for (const planner::Transfer& transfer : example.plan.transfers) {
    example.actual.transfer_bytes.push_back(transfer.bytes);
    example.actual.transfer_in_flight_bytes.push_back(0);
  }
  return example;
}

v1::JobShapeLearned Learn(const Example& example, const v1::JobShapeLearned* before = nullptr,
                          const std::vector<std::string>& handover_domains = {}) {
  return LearnFrom({example.plan, example.shape, example.cluster, example.actual, 1000,
                    example.codec_trials, handover_domains},
                   before);
}

TEST(LearnedShapeTest, WhatArrivedAfterTheReportDoesNotCountForTheChannel) {
  Example example = MakeExample(1);
  for (std::size_t t = 0; t < example.actual.transfer_bytes.size(); ++t) {
    example.actual.transfer_in_flight_bytes[t] = example.actual.transfer_bytes[t] / 2;
  }
  EXPECT_NEAR(Learn(example).channel_seconds_per_byte(), 2e-8, 2e-10);
}

TEST(LearnedShapeTest, WhatIsHandedOverOnOneHostDoesNotCountForTheChannel) {
  const Example example = MakeExample(1);
  EXPECT_EQ(Learn(example, nullptr, {"host", "host"}).channel_seconds_per_byte(), 0);
  EXPECT_NEAR(Learn(example, nullptr, {"host", "other"}).channel_seconds_per_byte(), 1e-8, 1e-10);
  EXPECT_NEAR(Learn(example, nullptr, {"", ""}).channel_seconds_per_byte(), 1e-8, 1e-10);
}

TEST(LearnedShapeTest, OfSeveralHostsOnlyWhatMovesBetweenThemCountsForTheChannel) {
  Example example = MakeExample(1);
  example.cluster.workers.resize(3);
  example.cluster.workers[2].name = "c";
  example.cluster.network.num_workers = 3;
  example.shape.layers[0].num_reducers = 3;
  example.shape.num_mappers = 3;
  example.plan = *planner::PlanJob(example.shape, example.cluster, {planner::PlanMethod::kEven});
  const planner::Prediction predicted = *planner::Predict(example.plan);
  example.actual = {};
  example.actual.steps = predicted.steps;
  for (const planner::ComputeStep& step : example.plan.steps) {
    example.actual.step_input_bytes.push_back(step.input_bytes);
    example.actual.step_output_bytes.push_back(step.output_bytes);
  }
  int handed_over = 0;
  for (const planner::Transfer& transfer : example.plan.transfers) {
    const bool linked = transfer.sender != 2 && transfer.receiver != 2;
    handed_over += linked ? 1 : 0;
    const double took_s = linked ? 1e-4 : 2e-8 * static_cast<double>(transfer.bytes);
    example.actual.transfers.push_back({0, took_s});
    example.actual.transfer_bytes.push_back(transfer.bytes);
    example.actual.transfer_in_flight_bytes.push_back(0);
  }
  ASSERT_GT(handed_over, 0);
  EXPECT_NEAR(Learn(example, nullptr, {"host", "host", "other"}).channel_seconds_per_byte(), 2e-8,
              2e-10);
}

TEST(LearnedShapeTest, OneRunSaysWhatItWas) {
  const v1::JobShapeLearned shape = Learn(MakeExample(1.5));
  EXPECT_NEAR(shape.map_seconds_per_byte(), 1.5e-8, 1e-11);
  EXPECT_NEAR(shape.map_overhead_s(), 0.01, 1e-9);
  EXPECT_NEAR(shape.map_output_ratio(), 0.1, 1e-6);
  EXPECT_EQ(shape.map_output_at_bytes(), 500'000'000);
  EXPECT_NEAR(shape.layers(0).reduce_seconds_per_byte(), 1.5e-8, 1e-10);
  EXPECT_NEAR(shape.channel_seconds_per_byte(), 1e-8, 1e-10);
  EXPECT_EQ(shape.outliers_size(), 0);
  planner::JobShape applied = MakeExample(1).shape;
  ApplyShape(shape, planner::Origin::kHistory, 1e6, applied);
  EXPECT_NEAR(applied.map_seconds_per_byte.value, 1.5e-8, 1e-11);
  EXPECT_EQ(applied.map_seconds_per_byte.origin, planner::Origin::kHistory);
}

TEST(LearnedShapeTest, WhatWasPutOnDiskIsNotPartOfTheRates) {
  const v1::JobShapeLearned without = Learn(MakeExample(1));
  Example example = MakeExample(1);
  example.actual.step_spilled_bytes.assign(example.plan.steps.size(), 0);
  for (std::size_t s = 0; s < example.plan.steps.size(); ++s) {
    // Foreseen of maps: half as much as there was; of reducers nothing was said.
    planner::ComputeStep& step = example.plan.steps[s];
    const bool maps = step.kind == planner::StepKind::kMap;
    if (maps) step.spilled_bytes = 100'000'000;
    if (maps) step.spill_s = 1;
    example.actual.step_spilled_bytes[s] = 200'000'000;
    const double took_s = maps ? 2 : planner::SpillComputeSeconds(example.shape, 1, 200'000'000);
    example.actual.steps[s].finish_s += took_s;
  }
  const v1::JobShapeLearned learned = Learn(example);
  EXPECT_NEAR(learned.map_seconds_per_byte(), without.map_seconds_per_byte(), 1e-12);
  EXPECT_NEAR(learned.layers(0).reduce_seconds_per_byte(),
              without.layers(0).reduce_seconds_per_byte(), 1e-12);
}

TEST(LearnedShapeTest, KeepsWhatSaysHowMuchMemoryHolds) {
  v1::JobShapeLearned sampled;
  sampled.set_map_output_ratio(0.2);
  sampled.set_map_output_growth(0.5);
  sampled.set_map_output_at_bytes(1'000'000);
  sampled.mutable_map_keys()->set_keys(1000);
  sampled.mutable_map_keys()->set_records_per_byte(0.1);
  sampled.add_layers()->set_record_bytes(21);
  Example example = MakeExample(1);
  ApplyShape(sampled, planner::Origin::kSampled, 1e8, example.shape);
  EXPECT_EQ(example.shape.layers[0].record_bytes.value, 21);
  // All keys are there in the large parts, nearly none come twice in the smallest.
  const std::vector<planner::OutputPoint> points = example.shape.map_output_points;
  ASSERT_GT(points.size(), 10U);
  EXPECT_NEAR(planner::PartOutputBytes(example.shape, 1e9), 0.2 * 1e6, 1e3);
  EXPECT_NEAR(planner::PartOutputBytes(example.shape, 2000), 0.2 * 1e6 * 0.181, 4e3);
  EXPECT_EQ(planner::PartOutputBytes(example.shape, 0), 0);

  const v1::JobShapeLearned learned = Learn(example);
  planner::JobShape applied = MakeExample(1).shape;
  ApplyShape(learned, planner::Origin::kHistory, 1e8, applied);
  EXPECT_EQ(applied.layers[0].record_bytes.value, 21);
  EXPECT_EQ(applied.layers[0].record_bytes.origin, planner::Origin::kHistory);
  ASSERT_EQ(applied.map_output_points.size(), points.size());
  // Of the same form, but of the size that the run saw.
  EXPECT_NEAR(planner::PartOutputBytes(applied, 5e8), 0.1 * 5e8, 1e3);
  EXPECT_NEAR(applied.map_output_points[3].output_bytes / points[3].output_bytes,
              applied.map_output_points.back().output_bytes / points.back().output_bytes, 1e-9);

  // A journal of before says neither, and one that is damaged nothing that could harm.
  v1::JobShapeLearned before = learned;
  before.clear_map_output_points();
  before.mutable_layers(0)->clear_record_bytes();
  applied = MakeExample(1).shape;
  ApplyShape(before, planner::Origin::kHistory, 1e8, applied);
  EXPECT_EQ(applied.layers[0].record_bytes.value, 0);
  EXPECT_TRUE(applied.map_output_points.empty());
  v1::JobShapeLearned damaged = learned;
  damaged.mutable_map_output_points(3)->set_output_bytes(-1);
  ApplyShape(damaged, planner::Origin::kHistory, 1e8, applied);
  EXPECT_TRUE(applied.map_output_points.empty());
}

TEST(LearnedShapeTest, KeepsWhereTheInputIsDear) {
  v1::JobShapeLearned sampled;
  sampled.add_input_weights(1.5);
  sampled.add_input_weights(0.5);
  Example example = MakeExample(1);
  ApplyShape(sampled, planner::Origin::kSampled, 1e8, example.shape);
  EXPECT_THAT(example.shape.input_weights, ::testing::ElementsAre(1.5, 0.5));
  v1::JobShapeLearned learned = Learn(example);
  EXPECT_THAT(learned.input_weights(), ::testing::ElementsAre(1.5, 0.5));
  planner::JobShape applied = MakeExample(1).shape;
  learned.set_input_weights(1, -1);
  ApplyShape(learned, planner::Origin::kHistory, 1e8, applied);
  EXPECT_THAT(applied.input_weights, ::testing::IsEmpty()) << "of a damaged journal";
}

TEST(LearnedShapeTest, ALayerIsAsLongAsItsLongestStep) {
  Example example = MakeExample(1);
  planner::Interval& longest = example.actual.steps[0];
  longest.finish_s += 0.2 * (longest.finish_s - longest.start_s);
  EXPECT_NEAR(Learn(example).map_seconds_per_byte(), 1.2e-8, 1e-10);
  longest.finish_s += 10 * (longest.finish_s - longest.start_s);
  EXPECT_LT(Learn(example).map_seconds_per_byte(), 12e-8) << "a straggler comes by chance";
  Example uneven = MakeExample(1);
  for (const std::size_t s : {std::size_t{0}, std::size_t{1}}) {
    const double share = s == 0 ? 1.5 : 0.5;
    planner::Interval& step = uneven.actual.steps[s];
    step.finish_s = step.start_s + share * (step.finish_s - step.start_s);
    uneven.actual.step_input_bytes[s] =
        static_cast<planner::Bytes>(share * static_cast<double>(uneven.actual.step_input_bytes[s]));
  }
  EXPECT_NEAR(Learn(uneven).map_seconds_per_byte(), 1e-8, 1e-10) << "it had more to do";
}

TEST(LearnedShapeTest, APackedRunTeachesTheSameAsOneThatIsNot) {
  const v1::JobShapeLearned plain = Learn(MakeExample(1));
  const Example example = MakeExample(1, planner::Codec::kZstd);
  ASSERT_EQ(example.plan.run_codec, std::vector<planner::Codec>{planner::Codec::kZstd});
  const v1::JobShapeLearned packed = Learn(example);
  EXPECT_NEAR(packed.map_seconds_per_byte(), plain.map_seconds_per_byte(), 1e-11);
  EXPECT_NEAR(packed.map_output_ratio(), plain.map_output_ratio(), 1e-6);
  EXPECT_NEAR(packed.layers(0).reduce_seconds_per_byte(), plain.layers(0).reduce_seconds_per_byte(),
              1e-11);
  EXPECT_NEAR(packed.layers(0).output_ratio(), plain.layers(0).output_ratio(), 1e-5);
  EXPECT_NEAR(packed.channel_seconds_per_byte(), 1e-8, 1e-10);
}

TEST(LearnedShapeTest, WhatWasPackedCountsInPlaceOfItsTrial) {
  Example example = MakeExample(1);
  v1::RunInfo run;
  run.add_sections()->set_bytes(30);
  run.mutable_sections(0)->set_unpacked_bytes(100);
  for (const v1::Codec codec : {v1::CODEC_LZ4, v1::CODEC_ZSTD}) {
    v1::CodecTrial& trial = *run.add_trials();
    trial.set_codec(codec);
    trial.set_raw_bytes(1000);
    trial.set_packed_bytes(600);
  }
  example.codec_trials.Add(0, v1::CODEC_ZSTD, run);
  const v1::JobShapeLearned shape = Learn(example);
  planner::JobShape applied = MakeExample(1).shape;
  ApplyShape(shape, planner::Origin::kHistory, 1e6, applied);
  ASSERT_EQ(applied.layers[0].packed.size(), 2U);
  EXPECT_EQ(applied.layers[0].packed[0].codec, planner::Codec::kLz4);
  EXPECT_DOUBLE_EQ(applied.layers[0].packed[0].ratio.value, 0.6);
  EXPECT_EQ(applied.layers[0].packed[1].codec, planner::Codec::kZstd);
  EXPECT_DOUBLE_EQ(applied.layers[0].packed[1].ratio.value, 0.3);
  EXPECT_EQ(applied.layers[0].packed[1].ratio.origin, planner::Origin::kHistory);
}

TEST(LearnedShapeTest, RunsThatReferToRecordsTeachWhatTheyHold) {
  v1::RunInfo run;
  run.add_sections()->set_bytes(10);
  run.mutable_sections(0)->set_unpacked_bytes(100);
  Example example = MakeExample(1);
  example.codec_trials.Add(0, v1::CODEC_NONE, run);
  planner::JobShape applied = MakeExample(1).shape;
  ApplyShape(Learn(example), planner::Origin::kHistory, 1e6, applied);
  ASSERT_EQ(applied.layers[0].packed.size(), 1U);
  EXPECT_EQ(applied.layers[0].packed[0].codec, planner::Codec::kNone);
  EXPECT_DOUBLE_EQ(applied.layers[0].packed[0].ratio.value, 0.1);

  run.mutable_sections(0)->set_bytes(100);
  Example holds = MakeExample(1);
  holds.codec_trials.Add(0, v1::CODEC_NONE, run);
  EXPECT_EQ(Learn(holds).layers(0).codecs_size(), 0) << "they hold all they are made of";
}

TEST(LearnedShapeTest, ATreeTeachesWhatTheShuffleDoes) {
  const v1::JobShapeLearned shuffled = Learn(MakeExample(1));
  Example example = MakeExample(1);
  // Both reducers read half of what was made, combined; combining took long on one worker.
  for (std::size_t s = 0; s < example.plan.steps.size(); ++s) {
    if (example.plan.steps[s].kind != planner::StepKind::kReduce) continue;
    example.actual.step_input_bytes[s] /= 2;
    const planner::Interval& took = example.actual.steps[s];
    example.actual.steps[s].finish_s =
        took.start_s + 0.02 + (took.finish_s - took.start_s - 0.02) / 2;
  }
  planner::ComputeStep combine;
  combine.kind = planner::StepKind::kCombine;
  combine.layer = 1;
  example.plan.steps.push_back(combine);
  example.actual.steps.push_back({0, 1000});
  example.actual.step_input_bytes.push_back(100'000'000);
  example.actual.step_output_bytes.push_back(50'000'000);
  example.actual.step_unpacked_output_bytes.push_back(50'000'000);
  const v1::JobShapeLearned tree = Learn(example);
  EXPECT_NEAR(tree.layers(0).output_ratio(), shuffled.layers(0).output_ratio(), 1e-9);
  EXPECT_NEAR(tree.layers(0).reduce_seconds_per_byte(),
              shuffled.layers(0).reduce_seconds_per_byte(), 1e-11);
  EXPECT_NEAR(tree.map_output_ratio(), shuffled.map_output_ratio(), 1e-9);
  ASSERT_EQ(tree.workers_size(), shuffled.workers_size());
  for (int w = 0; w < tree.workers_size(); ++w) {
    EXPECT_NEAR(tree.workers(w).speed(), shuffled.workers(w).speed(), 1e-6);
  }
}

TEST(LearnedShapeTest, LargerChunksFindFewerNewKeys) {
  v1::JobShapeLearned sampled;
  sampled.set_map_seconds_per_byte(1e-8);
  sampled.set_map_seconds_per_output_byte(1e-7);
  sampled.set_map_output_ratio(0.2);
  sampled.set_map_output_growth(0.5);
  sampled.set_map_output_at_bytes(1'000'000);
  planner::JobShape applied = MakeExample(1).shape;
  ApplyShape(sampled, planner::Origin::kSampled, 1e6, applied);
  EXPECT_NEAR(applied.map_seconds_per_byte.value, 1e-8 + 0.2 * 1e-7, 1e-12);
  ApplyShape(sampled, planner::Origin::kSampled, 1e8, applied);
  EXPECT_NEAR(applied.map_seconds_per_byte.value, 1e-8 + 0.02 * 1e-7, 1e-12);
}

TEST(LearnedShapeTest, ARatioWithoutGrowthIsNotReadByTheJobsOwn) {
  v1::JobShapeLearned sampled;
  sampled.set_map_output_ratio(0.2);
  planner::JobShape applied = MakeExample(1).shape;
  applied.map_output_growth = {0.5, planner::Origin::kDefault};
  applied.map_output_at_bytes = 1'000'000;
  ApplyShape(sampled, planner::Origin::kSampled, 1e8, applied);
  EXPECT_NEAR(planner::MapOutputRatio(applied, 1e8), 0.2, 1e-12);
  // That of an earlier run stays, of which this one says nothing.
  applied.map_output_growth = {0.5, planner::Origin::kHistory};
  applied.map_output_at_bytes = 1'000'000;
  ApplyShape(sampled, planner::Origin::kSampled, 1e8, applied);
  EXPECT_NEAR(planner::MapOutputRatio(applied, 1e8), 0.02, 1e-12);
}

TEST(LearnedShapeTest, SizesFollowTheLawOfTheKeys) {
  const KeyLaw law{1, 100'000};
  v1::JobShapeLearned sampled;
  sampled.set_map_seconds_per_byte(1e-8);
  sampled.set_map_seconds_per_output_byte(1e-7);
  sampled.set_map_output_ratio(0.2);
  sampled.set_map_output_growth(0.6);
  sampled.set_map_output_at_bytes(1'000'000);
  sampled.mutable_map_keys()->set_exponent(law.exponent);
  sampled.mutable_map_keys()->set_keys(law.keys);
  sampled.mutable_map_keys()->set_records_per_byte(0.1);
  v1::JobShapeLearned::Layer& layer = *sampled.add_layers();
  layer.set_reduce_seconds_per_byte(1e-8);
  layer.set_output_ratio(0.6);
  planner::JobShape applied = MakeExample(1).shape;  // 1 GB
  ApplyShape(sampled, planner::Origin::kSampled, 5e8, applied);
  const double grown = DistinctKeys(law, 5e7) / DistinctKeys(law, 1e5);
  EXPECT_NEAR(planner::MapOutputBytes(applied, 5e8), 0.2 * 1e6 * grown, 1);
  EXPECT_LT(applied.map_output_growth.value, 0.1) << "all words are known there";
  const double left = DistinctKeys(law, 1e8) / (2 * DistinctKeys(law, 5e7));
  EXPECT_NEAR(applied.layers[0].output_ratio.value, 0.6 * left, 1e-6);
  const double larger = 1 + 0.125 * std::max(0.0, std::log2(0.2 * 1e6 * grown / kCachedBytes));
  EXPECT_NEAR(applied.map_seconds_per_byte.value, 1e-8 + 1e-7 * 0.2 * 1e6 * grown / 5e8, 1e-13);
  EXPECT_NEAR(applied.layers[0].reduce_seconds_per_byte.value, 1e-8 * (0.25 + 0.75 * left) * larger,
              1e-13);
  // One mapper: what reducers read is sorted without a table.
  planner::JobShape whole = MakeExample(1).shape;
  v1::JobShapeLearned large = sampled;
  large.set_map_output_ratio(4);
  ApplyShape(large, planner::Origin::kSampled, 1e9, whole);
  const double all = 4 * 1e6 * DistinctKeys(law, 1e8) / DistinctKeys(law, 1e5);
  EXPECT_NEAR(whole.layers[0].reduce_seconds_per_byte.value,
              1e-8 * (1 + 0.03125 * std::log2(all / 4e6)), 1e-13);
  sampled.mutable_map_keys()->set_keys(-1);
  ApplyShape(sampled, planner::Origin::kSampled, 5e8, applied);
  EXPECT_EQ(applied.map_output_growth.value, 0.6) << "no such law: the power holds";
}

TEST(LearnedShapeTest, LaterRunsAreMixedAndOutliersDamped) {
  const v1::JobShapeLearned first = Learn(MakeExample(1));
  const v1::JobShapeLearned second = Learn(MakeExample(1.4), &first);
  EXPECT_NEAR(second.map_seconds_per_byte(), 1.2e-8, 1e-10);
  EXPECT_EQ(second.runs(), 2);
  EXPECT_EQ(second.outliers_size(), 0);
  const v1::JobShapeLearned odd = Learn(MakeExample(10), &first);
  EXPECT_NEAR(odd.map_seconds_per_byte(), 1e-8 * (1 + 0.15 * 9), 1e-9);
  ASSERT_GE(odd.outliers_size(), 1);
  EXPECT_THAT(odd.outliers(0), HasSubstr("map seconds per byte"));
}

TEST(LearnedShapeTest, KeysAreWeighedByWhatReducersRead) {
  Example example = MakeExample(1);
  double all = 0;
  for (std::size_t s = 0; s < example.plan.steps.size(); ++s) {
    if (example.plan.steps[s].kind != planner::StepKind::kReduce) continue;
    const bool first = example.plan.steps[s].index_in_layer == 0;
    example.actual.step_input_bytes[s] = first ? 80'000'000 : 20'000'000;
    all += static_cast<double>(example.actual.step_input_bytes[s]);
  }
  EXPECT_EQ(all, 1e8);
  planner::JobShape applied = example.shape;
  ApplyShape(Learn(example), planner::Origin::kHistory, 1e6, applied);
  EXPECT_NEAR(ShareBelow(applied.layers[0].key_weights, 0.5), 0.8, 1e-9);
  const planner::KeyCuts cuts = CutKeys(applied.layers[0].key_weights, {0.5, 0.5});
  EXPECT_NEAR(cuts.ends[0], 0.5 * 0.5 / 0.8, 1e-9);
}

TEST(LearnedShapeTest, ASlowWorkerIsKnownAfterSomeRuns) {
  ShapeHistory history;
  Example example = MakeExample(1);
  for (std::size_t s = 0; s < example.plan.steps.size(); ++s) {
    planner::Interval& step = example.actual.steps[s];
    if (example.plan.steps[s].worker == 1)
      step.finish_s = step.start_s + 3 * (step.finish_s - step.start_s);
  }
  EXPECT_EQ(history.SpeedOf("b"), 1);
  for (int run = 0; run < 3; ++run) history.Take(Learn(example));
  EXPECT_LT(history.SpeedOf("b"), 0.8);
  EXPECT_GT(history.SpeedOf("a"), 1.1);
}

}  // namespace
}  // namespace weir::master
