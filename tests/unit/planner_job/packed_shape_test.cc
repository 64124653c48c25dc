// Packing between layers: the transformed shape, and when the planner chooses it.

#include "planner/job/packed_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/job/builders/plan_job.h"
#include "planner/job/check_job.h"

namespace weir::planner {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr double kWordsRatio = 0.4;

// Two layers; `bytes` of map output that shrink to kWordsRatio by zstd and to 0.6 by lz4.
JobShape ShapeOf() {
  JobShape shape;
  shape.job = "weather";
  shape.input_bytes = 1'000'000'000;
  shape.map_seconds_per_byte.value = 4e-9;
  shape.map_output_ratio.value = 0.5;
  LayerShape first;
  first.reduce_seconds_per_byte.value = 10e-9;
  first.output_ratio.value = 0.2;
  first.packed = {{Codec::kLz4, {0.6, Origin::kSampled}},
                  {Codec::kZstd, {kWordsRatio, Origin::kSampled}}};
  LayerShape second = first;
  second.packed = {{Codec::kLz4, {1, Origin::kSampled}}, {Codec::kZstd, {0.9, Origin::kSampled}}};
  shape.layers = {first, second};
  return shape;
}

ClusterProfile ClusterOf(double seconds_per_byte) {
  ClusterProfile cluster;
  cluster.workers.resize(4);
  cluster.network.num_workers = 4;
  cluster.network.seconds_per_byte = seconds_per_byte;
  return cluster;
}

TEST(PackedShapeTest, WithoutACodecTheShapeStays) {
  const JobShape shape = ShapeOf();
  const JobShape same = PackedShape(shape, ClusterOf(1e-7), {Codec::kNone, Codec::kNone});
  EXPECT_EQ(same.map_seconds_per_byte.value, shape.map_seconds_per_byte.value);
  EXPECT_EQ(same.map_output_ratio.value, shape.map_output_ratio.value);
  for (std::size_t p = 0; p < 2; ++p) {
    EXPECT_EQ(same.layers[p].reduce_seconds_per_byte.value,
              shape.layers[p].reduce_seconds_per_byte.value);
    EXPECT_EQ(same.layers[p].output_ratio.value, shape.layers[p].output_ratio.value);
  }
}

TEST(PackedShapeTest, RunsThatReferToRecordsAreSmallWithoutACodec) {
  JobShape shape = ShapeOf();
  shape.layers[0].packed.push_back({Codec::kNone, {0.1, Origin::kSampled}});
  const JobShape named = PackedShape(shape, ClusterOf(1e-7), {Codec::kNone, Codec::kNone});
  EXPECT_EQ(named.map_seconds_per_byte.value, shape.map_seconds_per_byte.value);
  EXPECT_DOUBLE_EQ(named.map_output_ratio.value, 0.1 * shape.map_output_ratio.value);
  EXPECT_DOUBLE_EQ(named.layers[0].reduce_seconds_per_byte.value,
                   10 * shape.layers[0].reduce_seconds_per_byte.value);
  EXPECT_DOUBLE_EQ(named.layers[0].output_ratio.value, 10 * shape.layers[0].output_ratio.value);
  EXPECT_DOUBLE_EQ(named.layers[0].stored_ratio, 0.1);
  EXPECT_EQ(named.layers[1].reduce_seconds_per_byte.value,
            shape.layers[1].reduce_seconds_per_byte.value);
  // The list of numbers says so in words.
  const auto plan = PlanJob(shape, ClusterOf(1e-9), {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<std::string> names;
  for (const PlanNumber& number : plan->summary.numbers) names.push_back(number.name);
  EXPECT_THAT(names, Contains("map output with records by reference"));
}

TEST(PackedShapeTest, CombineStepsUnpackAndPack) {
  const ClusterProfile cluster = ClusterOf(1e-7);
  const CodecCost zstd = CostOf(Codec::kZstd, cluster);
  JobShape shape = ShapeOf();
  ElementShape& element = shape.layers[0].element;
  element.kind = ElementShape::Kind::kVector;
  element.places = 1000;
  element.place_bytes = 8;
  element.combine_seconds_per_byte.value = 1e-9;
  const JobShape packed = PackedShape(shape, cluster, {Codec::kZstd});
  EXPECT_DOUBLE_EQ(packed.layers[0].element.combine_seconds_per_byte.value * kWordsRatio,
                   1e-9 + zstd.unpack_seconds_per_byte + zstd.pack_seconds_per_byte);
  EXPECT_DOUBLE_EQ(ElementBytes(packed, 0, 1), 8000 * kWordsRatio);
}

TEST(ElementTest, TablesGrowAsMapOutputDoesAndVectorsNot) {
  JobShape shape = ShapeOf();
  shape.map_output_at_bytes = 1000;
  shape.map_output_growth.value = 0.5;
  shape.layers[0].element.kind = ElementShape::Kind::kTable;
  // Four mappers' chunks together: twice the keys of one.
  EXPECT_DOUBLE_EQ(ElementBytes(shape, 0, 4000), 2 * ElementBytes(shape, 0, 1000));
  EXPECT_DOUBLE_EQ(ElementBytes(shape, 0, 1000), MapOutputBytes(shape, 1000));
  EXPECT_DOUBLE_EQ(ElementBytes(shape, 1, 77), 77);
  shape.layers[0].element.kind = ElementShape::Kind::kVector;
  shape.layers[0].element.places = 5;
  shape.layers[0].element.place_bytes = 4;
  EXPECT_DOUBLE_EQ(ElementBytes(shape, 0, 4000), 20);
  // Whatever a mapper reads, and whatever was believed of its output; nothing without input.
  EXPECT_DOUBLE_EQ(MapOutputBytes(shape, 4000), 20);
  EXPECT_DOUBLE_EQ(MapOutputBytes(shape, 1), 20);
  EXPECT_DOUBLE_EQ(MapOutputRatio(shape, 10), 2);
  EXPECT_DOUBLE_EQ(MapOutputBytes(shape, 0), 0);
}

TEST(ElementTest, FieldsAreChecked) {
  JobShape shape = ShapeOf();
  ElementShape& element = shape.layers[1].element;
  element.kind = ElementShape::Kind::kVector;
  const auto message = [&] {
    const absl::StatusOr<Plan> plan = PlanJob(shape, ClusterOf(1e-7), {});
    return std::string(plan.status().message());
  };
  EXPECT_THAT(message(), HasSubstr("layers[1].element.places out of range: 0"));
  element.places = kElementBytesMax;
  EXPECT_THAT(message(), HasSubstr("layers[1].element.place_bytes out of range: 0"));
  element.place_bytes = 2'000'000;
  EXPECT_THAT(message(), HasSubstr("must be at most 2000000000000 of 2000000 bytes"));
  element.places = 10;
  element.combine_seconds_per_byte.value = -1;
  EXPECT_THAT(message(), HasSubstr("layers[1].element.combine_seconds_per_byte out of range: -1"));
  element.combine_seconds_per_byte.value = 0;
  element.packed_ratio = 0;
  EXPECT_THAT(message(), HasSubstr("layers[1].element.packed_ratio out of range: 0"));
}

// A byte of input makes 0.5 bytes, packed to 0.2; who reads them does the same work and, on top,
// packing and unpacking by their cost.
TEST(PackedShapeTest, SizesShrinkAndWorkStays) {
  const ClusterProfile cluster = ClusterOf(1e-7);
  const CodecCost zstd = CostOf(Codec::kZstd, cluster);
  const CodecCost lz4 = CostOf(Codec::kLz4, cluster);
  const JobShape packed = PackedShape(ShapeOf(), cluster, {Codec::kZstd, Codec::kLz4});
  EXPECT_DOUBLE_EQ(packed.map_output_ratio.value, 0.5 * kWordsRatio);
  EXPECT_DOUBLE_EQ(packed.map_seconds_per_byte.value, 4e-9 + 0.5 * zstd.pack_seconds_per_byte);
  EXPECT_DOUBLE_EQ(packed.layers[0].reduce_seconds_per_byte.value * kWordsRatio,
                   10e-9 + zstd.unpack_seconds_per_byte + 0.2 * lz4.pack_seconds_per_byte);
  // lz4 finds nothing in the second layer's bytes.
  EXPECT_DOUBLE_EQ(packed.layers[0].output_ratio.value * kWordsRatio, 0.2);
  EXPECT_DOUBLE_EQ(packed.layers[1].reduce_seconds_per_byte.value,
                   10e-9 + lz4.unpack_seconds_per_byte);
  EXPECT_DOUBLE_EQ(packed.layers[1].output_ratio.value, 0.2);
}

TEST(PackedShapeTest, OneThreadPacksForAllSlots) {
  ClusterProfile cluster = ClusterOf(1e-7);
  const double of_one = CostOf(Codec::kLz4, cluster).pack_seconds_per_byte;
  cluster.workers[2].slots = 6;
  EXPECT_DOUBLE_EQ(CostOf(Codec::kLz4, cluster).pack_seconds_per_byte, 6 * of_one);
}

TEST(CodecsWorthTryingTest, ThinLinksTakeWhatShrinksMostFastOnesNothing) {
  const std::vector<Codec> none{Codec::kNone, Codec::kNone};
  // 100 Mbit/s: the second layer's tenth is worth it as well.
  EXPECT_EQ(CodecsWorthTrying(ShapeOf(), ClusterOf(8e-8)),
            (std::vector<Codec>{Codec::kZstd, Codec::kZstd}));
  // 530 Mbit/s: zstd takes 3.9 ns a byte and saves 0.6 of 11 ns; of the second layer only a tenth.
  EXPECT_EQ(CodecsWorthTrying(ShapeOf(), ClusterOf(1.5e-8)),
            (std::vector<Codec>{Codec::kZstd, Codec::kNone}));
  // 900 Mbit/s: lz4 saves less but is the cheaper one.
  EXPECT_EQ(CodecsWorthTrying(ShapeOf(), ClusterOf(9e-9)),
            (std::vector<Codec>{Codec::kLz4, Codec::kNone}));
  EXPECT_EQ(CodecsWorthTrying(ShapeOf(), ClusterOf(4e-9)), none);
  JobShape unknown = ShapeOf();
  for (LayerShape& layer : unknown.layers) layer.packed.clear();
  EXPECT_EQ(CodecsWorthTrying(unknown, ClusterOf(8e-8)), none);
}

TEST(PlanJobTest, PacksWhereThatEndsFirstAndSaysSo) {
  const ClusterProfile thin = ClusterOf(8e-8);
  JobShape shape = ShapeOf();
  const Plan packed = *PlanJob(shape, thin, {});
  EXPECT_EQ(packed.run_codec, (std::vector<Codec>{Codec::kZstd, Codec::kZstd}));
  EXPECT_THAT(packed.summary.notes,
              Contains(HasSubstr("Packed before it moves: map output by zstd to 40.0 %")));
  shape.codec = Codec::kNone;
  const Plan plain = *PlanJob(shape, thin, {});
  EXPECT_TRUE(plain.run_codec.empty());
  EXPECT_LT(packed.summary.makespan_s, 0.8 * plain.summary.makespan_s);
  Bytes packed_bytes = 0;
  Bytes plain_bytes = 0;
  for (const Section& section : packed.sections) packed_bytes += section.bytes;
  for (const Section& section : plain.sections) plain_bytes += section.bytes;
  EXPECT_LT(packed_bytes, plain_bytes / 2);
}

TEST(PlanJobTest, ACodecThatWasAskedForIsTakenWhateverItSaves) {
  JobShape shape = ShapeOf();
  shape.codec = Codec::kLz4;
  for (const PlanMethod method : {PlanMethod::kLoad, PlanMethod::kEven, PlanMethod::kFetchAll}) {
    const Plan plan = *PlanJob(shape, ClusterOf(1e-10), {method});
    EXPECT_EQ(plan.run_codec, (std::vector<Codec>{Codec::kLz4, Codec::kLz4}));
    EXPECT_THAT(plan.summary.notes, Contains(HasSubstr("as asked")));
  }
}

TEST(PlanJobTest, ARatioThatCannotBeIsRefusedByName) {
  JobShape shape = ShapeOf();
  shape.layers[1].packed[0].ratio.value = 1.5;
  const absl::Status status = PlanJob(shape, ClusterOf(1e-8), {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(status.message(), HasSubstr("layers[1].packed ratio of lz4"));
}

}  // namespace
}  // namespace weir::planner
