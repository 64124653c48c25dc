// Which station comes next is foretold, and whether it came is seen.

#include "jobs/weather/station_order.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir::weather {
namespace {

// A row as it lies in a block, with readable bytes behind it.
std::string RowOf(const std::string& station) {
  return station + ",1990-01-01,00:00,12.5\n" + std::string(StationOrder::kTextBytes, '\0');
}

struct Followed {
  int foretold = 0;
  int found = 0;
  int unknown = 0;
};

// Gives all stations to an order, a row at a time, and checks whom it names.
Followed Follow(StationOrder& order, const std::vector<std::string>& stations) {
  Followed followed;
  for (const std::string& name : stations) {
    const std::string row = RowOf(name);
    order.CountRows(1);
    const StationOrder::Station* station = order.Expected(row.data());
    if (station != nullptr) {
      ++followed.foretold;
    } else {
      station = order.Find(row.data(), static_cast<std::uint32_t>(name.size()));
      ++(station != nullptr ? followed.found : followed.unknown);
    }
    if (station != nullptr) {
      EXPECT_EQ(std::string(station->text.data(), station->bytes), name);
    }
  }
  return followed;
}

std::vector<std::string> Names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("station-" + std::to_string(i));
  return names;
}

TEST(StationOrder, ForetellsWhoComesInTheSameOrderAgain) {
  StationOrder order;
  const std::vector<std::string> names = Names(100);
  Follow(order, names);
  // Who follows the last one is seen at the second round.
  EXPECT_EQ(Follow(order, names).foretold, 99);
  for (int hour = 0; hour < 200; ++hour) {
    EXPECT_EQ(Follow(order, names).foretold, 100);
  }
}

TEST(StationOrder, ForetellsOneStationAgainAndAgain) {
  StationOrder order;
  for (const std::string& name : Names(50)) {
    EXPECT_EQ(Follow(order, std::vector<std::string>(300, name)).foretold, 299);
  }
}

// Who comes instead of it is found, and so is it once it is there again.
TEST(StationOrder, AStationMayBeMissing) {
  StationOrder order;
  const std::vector<std::string> names = Names(20);
  std::vector<std::string> without = names;
  without.erase(without.begin() + 7);
  for (int hour = 0; hour < 3; ++hour) Follow(order, names);
  EXPECT_EQ(Follow(order, without).found, 1);
  EXPECT_EQ(Follow(order, without).found, 0);
  EXPECT_EQ(Follow(order, names).found, 1);
  EXPECT_EQ(Follow(order, names).found, 0);
}

TEST(StationOrder, KeepsStationsApartThatBeginAlike) {
  StationOrder order;
  const std::vector<std::string> names = {
      "a", "aa", "aaa", "aaaaaaaa", "aaaaaaaab", "aaaab", "aaaaaaaaaaaaaaa", "aaaaaaaaaaaaaab",
      "b"};
  std::vector<std::string> rows;
  std::mt19937_64 random(20261130);
  for (int i = 0; i < 2000; ++i) rows.push_back(names[random() % names.size()]);
  std::set<const StationOrder::Station*> stations;
  for (const std::string& name : rows) {
    const std::string row = RowOf(name);
    const StationOrder::Station* station = order.Expected(row.data());
    if (station == nullptr) {
      station = order.Find(row.data(), static_cast<std::uint32_t>(name.size()));
    }
    ASSERT_NE(station, nullptr);
    ASSERT_EQ(std::string(station->text.data(), station->bytes), name);
    stations.insert(station);
  }
  EXPECT_EQ(stations.size(), names.size());
}

TEST(StationOrder, IsOutOfUseForLongerEachTimeWhereThereIsNoOrder) {
  StationOrder order;
  std::vector<std::string> names = Names(500);
  std::mt19937_64 random(7);
  const auto rows = [&](std::size_t count) {
    std::vector<std::string> any;
    for (std::size_t i = 0; i < count; ++i) any.push_back(names[random() % names.size()]);
    return any;
  };
  const int tried = 4 * static_cast<int>(StationOrder::kStationsMax);
  // Of four times as many, one part is tried, then one left out, one tried, and the last left out,
  // as is the next.
  const Followed first = Follow(order, rows(static_cast<std::size_t>(4 * tried)));
  EXPECT_NEAR(first.unknown, 2 * tried, 8);
  EXPECT_NEAR(Follow(order, rows(static_cast<std::size_t>(tried))).unknown, tried, 8);
  // In use again, it finds an order that there is by now.
  Followed last;
  for (int hour = 0; hour < 20; ++hour) last = Follow(order, names);
  EXPECT_EQ(last.foretold, 500);
}

TEST(StationOrder, KnowsSoManyStationsAndNoMore) {
  StationOrder order;
  const int most = static_cast<int>(StationOrder::kStationsMax);
  const std::vector<std::string> names = Names(most + 10);
  const Followed followed = Follow(order, names);
  EXPECT_EQ(followed.found, most);
  EXPECT_EQ(followed.unknown, 10);
  EXPECT_EQ(followed.foretold, 0);
}

}  // namespace
}  // namespace weir::weather
