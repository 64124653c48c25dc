#include "runtime/transfer/stranger_connections.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/base/moment.h"

namespace weir::transfer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StrangerConnections, TheOldestGoesWhenThereAreTooMany) {
  StrangerConnections strangers(2, absl::Seconds(5));
  EXPECT_EQ(strangers.Add(1, "a", Moment(0)), std::nullopt);
  EXPECT_EQ(strangers.Add(2, "a", Moment(0)), std::nullopt);
  EXPECT_EQ(strangers.Add(3, "a", Moment(0)), 1);
  EXPECT_EQ(strangers.Add(4, "a", Moment(0)), 2);
  EXPECT_EQ(strangers.size(), 2u);
}

TEST(StrangerConnections, ACrowdDisplacesItsOwn) {
  StrangerConnections strangers(4, absl::Seconds(5));
  strangers.Add(1, "peer", Moment(0));
  for (int id = 2; id <= 4; ++id) strangers.Add(id, "crowd", Moment(0));
  EXPECT_EQ(strangers.Add(5, "crowd", Moment(0)), 2);
  EXPECT_EQ(strangers.Add(6, "another peer", Moment(0)), 3);
  EXPECT_EQ(strangers.Add(7, "third peer", Moment(0)), 4);
  // No address holds more than another: then age alone counts.
  EXPECT_EQ(strangers.Add(8, "fourth peer", Moment(0)), 1);
}

TEST(StrangerConnections, WhoeverShowsATokenMakesRoom) {
  StrangerConnections strangers(2, absl::Seconds(5));
  strangers.Add(1, "a", Moment(0));
  strangers.Add(2, "a", Moment(0));
  strangers.Remove(1);
  strangers.Remove(1);
  EXPECT_EQ(strangers.Add(3, "a", Moment(0)), std::nullopt);
  EXPECT_EQ(strangers.TakeOne(), 2);
  EXPECT_EQ(strangers.TakeOne(), 3);
  EXPECT_EQ(strangers.TakeOne(), std::nullopt);
}

TEST(StrangerConnections, PatienceEndsInOrderOfArrival) {
  StrangerConnections strangers(9, absl::Seconds(5));
  EXPECT_EQ(strangers.next_expiry(), std::nullopt);
  strangers.Add(1, "a", Moment(0));
  strangers.Add(2, "b", Moment(1));
  strangers.Add(3, "a", Moment(3));
  strangers.Remove(1);
  EXPECT_EQ(strangers.next_expiry(), Moment(6));
  EXPECT_THAT(strangers.TakeExpired(Moment(5)), IsEmpty());
  EXPECT_THAT(strangers.TakeExpired(Moment(8)), ElementsAre(2, 3));
  EXPECT_EQ(strangers.next_expiry(), std::nullopt);
  EXPECT_EQ(strangers.size(), 0u);
}

}  // namespace
}  // namespace weir::transfer
