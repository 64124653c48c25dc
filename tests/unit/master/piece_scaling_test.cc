#include "runtime/master/conduct/piece_scaling.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"

namespace weir::master {
namespace {

TEST(PieceScalingTest, RoundsBordersByHand) {
  const Piece first = ScalePiece(0, 3, 10, 5, true);
  const Piece second = ScalePiece(3, 7, 10, 5, false);
  EXPECT_EQ(first.begin, 0);
  EXPECT_EQ(first.end, 2);  // 1.5 rounds up
  EXPECT_EQ(second.begin, 2);
  EXPECT_EQ(second.end, 5);
}

TEST(PieceScalingTest, SectionPlannedEmptyGoesToItsFirstPiece) {
  EXPECT_EQ(ScalePiece(0, 0, 0, 77, true).size(), 77);
  EXPECT_EQ(ScalePiece(0, 0, 0, 77, false).size(), 0);
}

TEST(PieceScalingTest, LargeSectionsDoNotOverflow) {
  const planner::Bytes huge = std::int64_t{1} << 60;
  EXPECT_EQ(ScalePiece(huge / 2, huge / 2, huge, huge, false).begin, huge / 2);
  EXPECT_EQ(ScalePiece(0, huge, huge, huge, true).size(), huge);
}

RC_GTEST_PROP(PieceScaling, PiecesTileTheSectionWhateverItsSize, ()) {
  const auto cuts = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1'000'000));
  const auto planned = *rc::gen::inRange<planner::Bytes>(1, std::int64_t{1} << 40);
  const auto actual = *rc::gen::inRange<planner::Bytes>(0, std::int64_t{1} << 40);
  std::vector<planner::Bytes> borders{0, planned};
  for (const int cut : cuts) borders.push_back(planned * cut / 1'000'000);
  std::sort(borders.begin(), borders.end());
  planner::Bytes covered = 0;
  for (std::size_t i = 1; i < borders.size(); ++i) {
    const Piece piece =
        ScalePiece(borders[i - 1], borders[i] - borders[i - 1], planned, actual, i == 1);
    RC_ASSERT(piece.begin == covered);
    RC_ASSERT(piece.end >= piece.begin);
    covered = piece.end;
  }
  RC_ASSERT(covered == actual);
}

}  // namespace
}  // namespace weir::master
