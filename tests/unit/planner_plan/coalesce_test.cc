#include "planner/order/coalesce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace weir::planner {
namespace {

using testing::ElementsAre;

/// Two producers on workers 0 and 1, two consumers on workers 2 and 3; a megabyte a second.
Plan Listing(const std::vector<Transfer>& transfers) {
  Plan plan;
  plan.network.num_workers = 4;
  plan.network.seconds_per_byte = 1e-6;
  plan.steps.resize(4);
  plan.transfers = transfers;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    plan.steps[static_cast<std::size_t>(transfers[i].consumer)].after_transfers.push_back(
        static_cast<TransferIndex>(i));
  }
  return plan;
}

Transfer Piece(StepIndex producer, StepIndex consumer, Bytes offset, Bytes bytes) {
  Transfer piece;
  piece.producer = producer;
  piece.consumer = consumer;
  piece.sender = producer;
  piece.receiver = consumer;
  piece.offset = offset;
  piece.bytes = bytes;
  return piece;
}

std::vector<std::pair<Bytes, Bytes>> Ranges(const Plan& plan) {
  std::vector<std::pair<Bytes, Bytes>> ranges;
  for (const Transfer& t : plan.transfers) ranges.emplace_back(t.offset, t.bytes);
  return ranges;
}

TEST(CoalesceTest, JoinsNeighboursUntilTheyAreLongEnough) {
  Plan plan = Listing({Piece(0, 2, 0, 40'000), Piece(1, 3, 0, 200'000), Piece(0, 2, 40'000, 40'000),
                       Piece(0, 2, 80'000, 90'000), Piece(0, 2, 170'000, 10'000)});
  CoalescePieces(0.08, &plan);
  EXPECT_THAT(Ranges(plan),
              ElementsAre(std::pair(0, 80'000), std::pair(0, 200'000), std::pair(80'000, 100'000)))
      << "the last 10 kB go with the piece before them";
  EXPECT_THAT(plan.steps[2].after_transfers, ElementsAre(0, 2));
  EXPECT_THAT(plan.steps[3].after_transfers, ElementsAre(1));
}

TEST(CoalesceTest, LeavesShortSectionsAndLongPiecesAlone) {
  Plan plan = Listing({Piece(0, 2, 0, 10), Piece(0, 3, 0, 90'000), Piece(0, 3, 90'000, 90'000)});
  CoalescePieces(0.08, &plan);
  EXPECT_THAT(Ranges(plan),
              ElementsAre(std::pair(0, 10), std::pair(0, 90'000), std::pair(90'000, 90'000)));
}

TEST(CoalesceTest, CountsTimeOnTheWireNotBytes) {
  Plan plan = Listing({Piece(0, 2, 0, 40'000), Piece(0, 2, 40'000, 40'000)});
  plan.network.port_slowdown = {1, 1, 4, 1};
  CoalescePieces(0.08, &plan);
  EXPECT_EQ(plan.transfers.size(), 2u) << "a slow port takes long enough for each";
}

RC_GTEST_PROP(CoalesceProperty, MovesEveryByteOnceInPiecesOfSomeLength, ()) {
  std::vector<Transfer> listed;
  std::map<std::pair<StepIndex, StepIndex>, Bytes> section;
  const auto count = *rc::gen::inRange(0, 40);
  for (int i = 0; i < count; ++i) {
    const std::pair<StepIndex, StepIndex> pair(*rc::gen::inRange(0, 2), *rc::gen::inRange(2, 4));
    const Bytes bytes = *rc::gen::inRange(1, 100'000);
    listed.push_back(Piece(pair.first, pair.second, section[pair], bytes));
    section[pair] += bytes;
  }
  Plan plan = Listing(listed);
  CoalescePieces(0.08, &plan);
  std::map<std::pair<StepIndex, StepIndex>, Bytes> moved;
  std::map<std::pair<StepIndex, StepIndex>, int> pieces;
  for (const Transfer& t : plan.transfers) {
    RC_ASSERT(t.offset == (moved[{t.producer, t.consumer}]));
    moved[{t.producer, t.consumer}] += t.bytes;
    ++pieces[{t.producer, t.consumer}];
  }
  RC_ASSERT(moved == section);
  for (const Transfer& t : plan.transfers) {
    RC_ASSERT(t.bytes >= 80'000 || (pieces[{t.producer, t.consumer}] == 1));
  }
  std::size_t waited_for = 0;
  for (const ComputeStep& step : plan.steps) waited_for += step.after_transfers.size();
  RC_ASSERT(waited_for == plan.transfers.size());
}

}  // namespace
}  // namespace weir::planner
