#include "runtime/transfer/stranger_connections.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::transfer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MonoTime At(int seconds) { return MonoTime::FromNanos(std::int64_t{seconds} * 1'000'000'000); }

TEST(StrangerConnections, TheOldestGoesWhenThereAreTooMany) {
  StrangerConnections strangers(2, absl::Seconds(5));
  EXPECT_EQ(strangers.Add(1, "a", At(0)), std::nullopt);
  EXPECT_EQ(strangers.Add(2, "a", At(0)), std::nullopt);
  EXPECT_EQ(strangers.Add(3, "a", At(0)), 1);
  EXPECT_EQ(strangers.Add(4, "a", At(0)), 2);
  EXPECT_EQ(strangers.size(), 2u);
}

TEST(StrangerConnections, ACrowdDisplacesItsOwn) {
  StrangerConnections strangers(4, absl::Seconds(5));
  strangers.Add(1, "peer", At(0));
  for (int id = 2; id <= 4; ++id) strangers.Add(id, "crowd", At(0));
  EXPECT_EQ(strangers.Add(5, "crowd", At(0)), 2);
  EXPECT_EQ(strangers.Add(6, "another peer", At(0)), 3);
  EXPECT_EQ(strangers.Add(7, "third peer", At(0)), 4);
  // No address holds more than another: then age alone counts.
  EXPECT_EQ(strangers.Add(8, "fourth peer", At(0)), 1);
}

TEST(StrangerConnections, WhoeverShowsATokenMakesRoom) {
  StrangerConnections strangers(2, absl::Seconds(5));
  strangers.Add(1, "a", At(0));
  strangers.Add(2, "a", At(0));
  strangers.Remove(1);
  strangers.Remove(1);
  EXPECT_EQ(strangers.Add(3, "a", At(0)), std::nullopt);
  EXPECT_EQ(strangers.TakeOne(), 2);
  EXPECT_EQ(strangers.TakeOne(), 3);
  EXPECT_EQ(strangers.TakeOne(), std::nullopt);
}

TEST(StrangerConnections, PatienceEndsInOrderOfArrival) {
  StrangerConnections strangers(9, absl::Seconds(5));
  EXPECT_EQ(strangers.next_expiry(), std::nullopt);
  strangers.Add(1, "a", At(0));
  strangers.Add(2, "b", At(1));
  strangers.Add(3, "a", At(3));
  strangers.Remove(1);
  EXPECT_EQ(strangers.next_expiry(), At(6));
  EXPECT_THAT(strangers.TakeExpired(At(5)), IsEmpty());
  EXPECT_THAT(strangers.TakeExpired(At(8)), ElementsAre(2, 3));
  EXPECT_EQ(strangers.next_expiry(), std::nullopt);
  EXPECT_EQ(strangers.size(), 0u);
}

}  // namespace
}  // namespace weir::transfer
