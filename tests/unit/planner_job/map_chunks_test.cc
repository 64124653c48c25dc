#include "planner/job/map_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir::planner {
namespace {

using ::testing::ElementsAre;

JobShape ShapeOf(Bytes input_bytes, std::vector<ByteRange> uncut) {
  JobShape shape;
  shape.input_bytes = input_bytes;
  shape.uncut = std::move(uncut);
  return shape;
}

TEST(MapChunksTest, WithoutUncutRangesSharesAreMet) {
  EXPECT_THAT(MapChunks(ShapeOf(100, {}), {1, 2, 1}), ElementsAre(25, 50, 25));
}

TEST(MapChunksTest, BordersMoveToTheNearerEndOfAnUncutRange) {
  // Borders at 25, 50 and 75: to 20, to 50 (outside) and to 80.
  EXPECT_THAT(MapChunks(ShapeOf(100, {{20, 40}, {60, 80}}), {1, 1, 1, 1}),
              ElementsAre(20, 30, 30, 20));
  // As near to both: to the end.
  EXPECT_THAT(MapChunks(ShapeOf(100, {{40, 60}}), {1, 1}), ElementsAre(60, 40));
  // At an end already.
  EXPECT_THAT(MapChunks(ShapeOf(100, {{0, 50}, {50, 100}}), {1, 1}), ElementsAre(50, 50));
}

TEST(MapChunksTest, OneUncutRangeHasOneReader) {
  EXPECT_THAT(MapChunks(ShapeOf(64, {{0, 64}}), {1, 1, 1, 1}), ElementsAre(0, 64, 0, 0));
  EXPECT_THAT(EvenChunks(ShapeOf(64, {{0, 64}}), 4), ElementsAre(64));
  JobShape asked = ShapeOf(64, {{0, 64}});
  asked.num_mappers = 2;
  EXPECT_THAT(EvenChunks(asked, 4), ElementsAre(64, 0));
}

TEST(MapChunksTest, AnEmptyInputHasEmptyChunks) {
  EXPECT_THAT(EvenChunks(ShapeOf(0, {}), 2), ElementsAre(0, 0));
}

TEST(MapChunksTest, MappersAreLimitedByFilesOnlyWhereThereIsNothingElse) {
  EXPECT_EQ(MappersMax(ShapeOf(64, {}), 4), 4);
  EXPECT_EQ(MappersMax(ShapeOf(64, {{0, 64}}), 4), 1);
  EXPECT_EQ(MappersMax(ShapeOf(64, {{0, 63}}), 4), 4);
  EXPECT_EQ(MappersMax(ShapeOf(64, {{0, 30}, {30, 64}}), 1), 1);
  EXPECT_EQ(MappersMax(ShapeOf(0, {}), 4), 4);
}

TEST(MapChunksTest, LargestUncutIsThatOfAllRanges) {
  EXPECT_EQ(LargestUncut(ShapeOf(64, {})), 0);
  EXPECT_EQ(LargestUncut(ShapeOf(64, {{0, 5}, {10, 40}, {41, 44}})), 30);
}

}  // namespace
}  // namespace weir::planner
