#include "jobs/engine/table/recent_entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "jobs/api/key_codec.h"
#include "jobs/api/key_place.h"
#include "jobs/engine/table/combine_table.h"
#include "jobs/engine/table/key_batch.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {
namespace {

struct Thing {
  std::uint64_t meta = 0;
};

// Keys of one sub-table have the first eight bits in common, those of one set two more.
std::uint64_t HashIn(std::uint64_t sub_table, std::uint64_t set) {
  return sub_table << 56 | set << 54;
}

TEST(RecentEntries, FindsWhatItRemembersUntilItForgets) {
  RecentEntries<Thing> recent(true);
  Thing one{1};
  Thing two{2};
  EXPECT_EQ(recent.Find(HashIn(7, 0), 1), nullptr);
  recent.Remember(HashIn(7, 0), one);
  recent.Remember(HashIn(7, 1), two);
  EXPECT_EQ(recent.Find(HashIn(7, 0), 1), &one);
  EXPECT_EQ(recent.Find(HashIn(7, 1), 2), &two);
  EXPECT_EQ(recent.Find(HashIn(7, 0), 2), nullptr);
  recent.Forget();
  EXPECT_EQ(recent.Find(HashIn(7, 0), 1), nullptr);
  EXPECT_EQ(recent.Find(HashIn(7, 1), 2), nullptr);
}

TEST(RecentEntries, KeepsTheLastTwoOfASet) {
  RecentEntries<Thing> recent(true);
  Thing things[] = {{1}, {2}, {3}};
  for (Thing& thing : things) recent.Remember(HashIn(200, 3), thing);
  EXPECT_EQ(recent.Find(HashIn(200, 3), 1), nullptr);
  EXPECT_EQ(recent.Find(HashIn(200, 3), 2), &things[1]);
  EXPECT_EQ(recent.Find(HashIn(200, 3), 3), &things[2]);
}

TEST(RecentEntries, ForgetsAllOfOneSubTableAndNothingElse) {
  RecentEntries<Thing> recent(true);
  std::vector<Thing> things(256 * 4);
  for (std::uint64_t i = 0; i < things.size(); ++i) {
    things[i].meta = i + 1;
    recent.Remember(HashIn(i / 4, i % 4), things[i]);
  }
  for (const std::uint64_t forgotten : {0, 9, 255}) {
    recent.ForgetSubTable(HashIn(forgotten, 2));
    for (std::uint64_t i = 0; i < things.size(); ++i) {
      const bool stays = i / 4 != forgotten && (i / 4 != 0) && (i / 4 != 9 || forgotten == 0);
      EXPECT_EQ(recent.Find(HashIn(i / 4, i % 4), i + 1), stays ? &things[i] : nullptr) << i;
    }
  }
}

// Counts keys that are missed until this is in use, or is not.
int MissedUntil(RecentEntries<Thing>& recent, bool in_use, int found_to_missed) {
  int missed = 0;
  for (; recent.in_use() != in_use && missed < 1 << 24; ++missed) {
    for (int i = 0; i < found_to_missed; ++i) recent.CountFound();
    recent.CountMissed(1);
  }
  return missed;
}

TEST(RecentEntries, IsOutOfUseForLongerEachTimeThatFewAreFound) {
  RecentEntries<Thing> recent(true);
  ASSERT_TRUE(recent.in_use());
  int before = 0;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(MissedUntil(recent, false, 6), 512);
    const int left_out = MissedUntil(recent, true, 0);
    EXPECT_GE(left_out, 2 * before);
    before = left_out;
  }
  // Where many are found it stays, and then does not wait as long as before.
  for (int i = 0; i < 1024; ++i) {
    for (int found = 0; found < 8; ++found) recent.CountFound();
    recent.CountMissed(1);
    ASSERT_TRUE(recent.in_use());
  }
  MissedUntil(recent, false, 0);
  EXPECT_LT(MissedUntil(recent, true, 0), before);
}

TEST(RecentEntries, IsNeverInUseWhereKeysComeOnce) {
  RecentEntries<Thing> recent(false);
  EXPECT_FALSE(recent.in_use());
  recent.CountMissed(std::size_t{1} << 40);
  EXPECT_FALSE(recent.in_use());
}

// What came first and last tells whether the order of values was kept.
struct Values {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t count = 0;
};
struct FoldValues {
  void operator()(Values& into, const Values& from) const {
    into.last = from.last;
    into.count += from.count;
  }
};

// Calls visit(key, value) for what a batch has put into its table, which is of so many keys.
template <typename Batch, typename Visit>
void VisitAll(Batch& batch, std::size_t num_keys, Visit&& visit) {
  batch.Flush();
  auto& table = batch.table();
  table.Split();
  ASSERT_EQ(table.size(), static_cast<std::int64_t>(num_keys));
  for (int sub = 0; sub < table.kSubTables; ++sub) {
    table.ForEach(sub, [&](const auto& entry) { visit(std::string(entry.key()), entry.value); });
  }
}

// Adds the keys of windows that move on, as stations of one day after the other, each key of a
// window some times and in any order; `length` of keys in bytes.
void ExpectAllKept(std::int64_t num_keys, std::int64_t window, int times, std::size_t length) {
  auto batch = std::make_unique<KeyBatch<Values, FoldValues>>(
      FoldValues(), std::make_shared<SlabStore>(), KeysCome::kAgain);
  std::map<std::string, Values> expected;
  std::mt19937_64 random(static_cast<std::uint64_t>(num_keys + window));
  std::int64_t at = 0;
  for (std::int64_t begin = 0; begin < num_keys; begin += window) {
    for (std::int64_t i = 0; i < window * times; ++i) {
      std::string key = std::to_string(begin + static_cast<std::int64_t>(random() % window));
      key.resize(length, 'k');
      const Values value{at, at, 1};
      ++at;
      const auto [kept, is_new] = expected.try_emplace(key, value);
      if (!is_new) FoldValues()(kept->second, value);
      batch->AddCopied(key, value);
    }
  }
  VisitAll(*batch, expected.size(), [&](const std::string& key, const Values& kept) {
    const Values& values = expected.at(key);
    EXPECT_EQ(kept.first, values.first) << key;
    EXPECT_EQ(kept.last, values.last) << key;
    EXPECT_EQ(kept.count, values.count) << key;
  });
}

TEST(RecentEntries, ABatchKeepsAllValuesInTheirOrder) {
  for (const std::size_t length : {std::size_t{9}, std::size_t{16}, std::size_t{24}}) {
    ExpectAllKept(1000, 100, 3, length);
    // Nearly all are found, while the table grows.
    ExpectAllKept(15000, 100, 20, length);
    ExpectAllKept(9000, 7, 12, length);
    // Few are.
    ExpectAllKept(20000, 20000, 3, length);
    ExpectAllKept(20000, 5000, 4, length);
  }
}

// Keys that are too long to wait make sub-tables grow, too: under the feet of those of a window
// that are found time and again.
TEST(RecentEntries, ABatchForgetsWhatAKeyTooLongToWaitHasMoved) {
  auto batch = std::make_unique<KeyBatch<Values, FoldValues>>(
      FoldValues(), std::make_shared<SlabStore>(), KeysCome::kAgain);
  constexpr int kFirst = 4200;  // more than a table has before it is split
  constexpr int kWindow = 100;  // the last ones of these
  constexpr int kLong = 5000;
  std::int64_t at = 0;
  const auto add = [&](const std::string& key) {
    batch->AddCopied(key, {at, at, 1});
    ++at;
  };
  for (int i = 0; i < kFirst; ++i) add(std::to_string(i));
  std::string too_long(std::size_t{17} << 10, 'k');
  for (int i = 0; i < kLong; ++i) {
    const std::string number = std::to_string(i);
    std::copy(number.begin(), number.end(), too_long.end() - 8);
    add(too_long);
    for (int j = kFirst - kWindow; j < kFirst; ++j) add(std::to_string(j));
  }
  batch->Flush();
  std::int64_t found = 0;
  for (int sub = 0; sub < batch->table().kSubTables; ++sub) {
    batch->table().ForEach(sub, [&](const auto& entry) {
      if (entry.key().size() > 8) return;
      const bool in_window = std::stoi(std::string(entry.key())) >= kFirst - kWindow;
      EXPECT_EQ(entry.value.count, in_window ? kLong + 1 : 1) << entry.key();
      ++found;
    });
  }
  EXPECT_EQ(found, kFirst);
}

// A place of each key beside those of a map, while the table grows, is split and begins again.
TEST(KeyPlaces, ABatchKeepsAllValuesOfKeysWithPlacesAndWithout) {
  const auto add = [](std::int64_t& into, std::int64_t from) { into += from; };
  auto batch = std::make_unique<KeyBatch<std::int64_t, decltype(add)>>(
      add, std::make_shared<SlabStore>(), KeysCome::kAgain);
  std::mt19937_64 random(20261130);
  std::vector<KeyPlace> places(20000);
  std::int64_t at_places = 0;
  std::int64_t waiting = 0;
  for (const std::size_t num_keys : {300, 3000, 20000}) {
    std::map<std::string, std::int64_t> expected;
    for (std::size_t i = 0; i < 30 * num_keys; ++i) {
      // Of a window that moves on.
      const std::size_t which = (i / 30 + random() % 200) % num_keys;
      const std::string key = std::to_string(which);
      const auto value = static_cast<std::int64_t>(random() % 1000);
      expected[key] += value;
      if (random() % 8 == 0) {
        batch->AddCopied(key, value);
      } else if (batch->AddAt(places[which], value)) {
        ++at_places;
      } else if (batch->AddToPending(places[which], value)) {
        ++waiting;
      } else {
        batch->AddShort(ShortKey(key), value, places[which]);
      }
      if (random() % 1000 == 0) batch->Flush();
    }
    VisitAll(*batch, expected.size(), [&](const std::string& key, std::int64_t value) {
      EXPECT_EQ(value, expected.at(key)) << key;
    });
    batch->Clear();
  }
  // Else nothing of this was tried.
  EXPECT_GT(at_places, 300000);
  EXPECT_GT(waiting, 1000);
}

}  // namespace
}  // namespace weir
