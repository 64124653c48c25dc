#include "jobs/engine/table/combine_table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "jobs/engine/combine_layer.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/table/packed_key.h"
#include "jobs/engine/table/slab_store.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

void Append(std::string& into, const std::string& from) { into += from; }

// Values with memory of their own, folded in order: shows lost, doubled, leaked and misplaced ones.
template <typename Table>
void Put(Table& table, const std::string& key, const std::string& value) {
  std::string padded = key;
  padded.resize(key.size() + kInlineKeyBytes);
  table.Upsert(PackKey(padded.data(), static_cast<std::uint32_t>(key.size())), value, Append);
}

template <typename Table>
std::map<std::string, std::string> Contents(const Table& table) {
  std::map<std::string, std::string> contents;
  for (int sub = 0; sub < (table.small() ? 1 : Table::kSubTables); ++sub) {
    table.ForEach(sub, [&](const auto& entry) {
      EXPECT_TRUE(contents.emplace(entry.key(), entry.value).second);
      if (!table.small()) {
        EXPECT_EQ(Table::PositionOf(sub, entry), KeyPosition(HashKey(entry.key())));
      }
    });
  }
  EXPECT_EQ(static_cast<std::int64_t>(contents.size()), table.size());
  return contents;
}

std::string KeyOf(int i) {
  return std::string(static_cast<std::size_t>(i % 40), 'x') + std::to_string(i);
}

TEST(CombineTable, GrowsSplitsAndKeepsTheOrderOfValues) {
  for (const int num_keys : {0, 1, 100, 4096, 4097, 30000}) {
    CombineTable<std::string> table;
    std::map<std::string, std::string> expected;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < num_keys; ++i) {
        Put(table, KeyOf(i), std::to_string(round));
        expected[KeyOf(i)] += std::to_string(round);
      }
    }
    EXPECT_EQ(table.small(), num_keys <= 4096) << num_keys;
    EXPECT_EQ(Contents(table), expected);
    table.Split();
    EXPECT_EQ(Contents(table), expected);
  }
}

template <typename Table>
std::int64_t HeapBytesOf(const Table& table) {
  std::int64_t bytes = 0;
  for (int sub = 0; sub < (table.small() ? 1 : Table::kSubTables); ++sub) {
    table.ForEach(
        sub, [&](const auto& entry) { bytes += ValueMemory<std::string>::HeapBytes(entry.value); });
  }
  return bytes;
}

// What a key costs beyond the cache is the number of its lines.
TEST(CombineTable, EntriesThatNearlyFillACacheLineLieInOne) {
  CombineTable<std::array<std::int64_t, 3>> table;
  const auto last = [](auto& into, const auto& from) { into = from; };
  constexpr int kKeys = 30'000;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = std::to_string(100'000 + i) + std::string(kInlineKeyBytes, ' ');
    table.Upsert(PackKey(key.data(), 6), {i, i, i}, last);
  }
  ASSERT_FALSE(table.small());
  int entries = 0;
  for (int sub = 0; sub < table.kSubTables; ++sub) {
    table.ForEach(sub, [&](const auto& entry) {
      const auto begin = reinterpret_cast<std::uintptr_t>(&entry);
      const auto end = reinterpret_cast<std::uintptr_t>(&entry.value + 1);
      EXPECT_EQ(begin / 64, (end - 1) / 64);
      ++entries;
    });
  }
  EXPECT_EQ(entries, kKeys);
}

// How many of the entries have another one right behind them.
template <typename Table>
double CrowdedPart(Table& table) {
  using Entry = typename Table::Entry;
  std::vector<const Entry*> entries;
  for (int sub = 0; sub < (table.small() ? 1 : Table::kSubTables); ++sub) {
    table.ForEach(sub, [&entries](const Entry& entry) { entries.push_back(&entry); });
  }
  std::sort(entries.begin(), entries.end());
  const auto crowded = std::adjacent_find(entries.begin(), entries.end());
  EXPECT_EQ(crowded, entries.end()) << "an entry was visited twice";
  int num_crowded = 0;
  for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
    if (entries[i] + 1 == entries[i + 1]) ++num_crowded;
  }
  return static_cast<double>(num_crowded) / static_cast<double>(entries.size());
}

// Of tables of so many keys, each put in `times` times.
template <typename Value, typename Check>
void WithKeys(int num_keys, int times, KeysCome come, Check&& check) {
  CombineTable<Value> table(std::make_shared<SlabStore>(), come);
  std::vector<PackedKey> keys;
  for (int i = 0; i < num_keys; ++i) {
    const std::string key = std::to_string(100'000 + i) + std::string(kInlineKeyBytes, ' ');
    keys.push_back(PackKey(key.data(), 6));
  }
  auto count = [](Value& into, const Value& from) { into[0] += from[0]; };
  for (int time = 0; time < times; ++time) {
    for (const PackedKey& key : keys) {
      if (table.small()) {
        table.UpsertSmall(key, {1}, count);
      } else {
        table.UpsertSplit(key, {1}, count);
      }
    }
  }
  EXPECT_EQ(table.size(), num_keys);
  for (int sub = 0; sub < (table.small() ? 1 : CombineTable<Value>::kSubTables); ++sub) {
    table.ForEach(sub, [times](const auto& entry) { EXPECT_EQ(entry.value[0], times); });
  }
  check(table);
}

// To look for a key beside its first place costs a branch that is foretold wrongly.
TEST(CombineTable, TablesOfFewKeysBecomeSparseWhereKeysComeAgainOften) {
  using Count = std::array<std::int64_t, 1>;
  using Line = std::array<std::int64_t, 3>;
  const auto crowded = [](auto& table) { EXPECT_GT(CrowdedPart(table), 0.3); };
  const auto sparse = [](auto& table) {
    EXPECT_TRUE(table.small());
    EXPECT_LT(CrowdedPart(table), 0.3);
  };
  for (const int num_keys : {1500, 3000, 6000, 12'000}) {
    SCOPED_TRACE(num_keys);
    WithKeys<Count>(num_keys, 2, KeysCome::kAgain, crowded);
    WithKeys<Count>(num_keys, 120, KeysCome::kAgain, sparse);
    WithKeys<Line>(num_keys, 120, KeysCome::kAgain, sparse);
    WithKeys<Count>(num_keys, 120, KeysCome::kOnce, crowded);
  }
}

TEST(CombineTable, TablesAreSplitWhereTheyOutgrowTheCache) {
  using Count = std::array<std::int64_t, 1>;
  using MoreThanALine = std::array<std::int64_t, 6>;
  const auto whole = [](auto& table) { EXPECT_TRUE(table.small()); };
  const auto split = [](auto& table) { EXPECT_FALSE(table.small()); };
  WithKeys<Count>(4096, 1, KeysCome::kOnce, whole);
  WithKeys<Count>(4097, 1, KeysCome::kOnce, split);
  WithKeys<Count>(16'384, 1, KeysCome::kAgain, whole);
  WithKeys<Count>(16'385, 1, KeysCome::kAgain, split);
  WithKeys<MoreThanALine>(4097, 1, KeysCome::kAgain, split);
}

TEST(CombineTable, LongKeysAreOneKeyOnlyWhereAllTheirBytesAre) {
  using Table = CombineTable<std::int64_t>;
  for (std::size_t bytes = kInlineKeyBytes + 1; bytes <= 50; ++bytes) {
    const std::string kept(bytes, 'k');
    Table::Entry entry{};
    entry.word1 = reinterpret_cast<std::uint64_t>(kept.data());
    const auto is_of = [&entry](const std::string& key) {
      return Table::IsOfLong(entry, PackKey(key.data(), static_cast<std::uint32_t>(key.size())));
    };
    EXPECT_TRUE(is_of(std::string(bytes, 'k'))) << bytes;
    for (std::size_t at = sizeof(std::uint64_t); at < bytes; ++at) {
      std::string other = kept;
      other[at] = 'x';
      EXPECT_FALSE(is_of(other)) << bytes << ", " << at;
    }
  }
}

// The reduce step of a task finds what its map step gave back: no page of long keys is new twice.
TEST(CombineTable, MemoryOfManyLongKeysStaysInTheStore) {
  const auto slabs = std::make_shared<SlabStore>();
  std::int64_t bytes = 0;
  {
    CombineTable<std::int64_t> table(slabs);
    const auto last = [](auto& into, const auto& from) { into = from; };
    for (std::int64_t i = 0; i < 400'000; ++i) {
      const std::string key = std::to_string(100'000'000 + i) + std::string(31, 'x');
      table.Upsert(PackKey(key.data(), 40), i, last);
    }
    bytes = table.memory_bytes();
  }
  constexpr std::int64_t kBeforeUnits = 6 << 20;
  EXPECT_GT(slabs->kept_bytes(), bytes - kBeforeUnits);
}

TEST(CombineTable, WhatValuesHoldOnTheHeapCounts) {
  for (const int num_keys : {1, 4096, 4097, 9000}) {
    CombineTable<std::string> first, second;
    const std::int64_t empty_bytes = first.memory_bytes();
    EXPECT_EQ(first.heap_bytes(), 0);
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < num_keys; ++i) Put(first, KeyOf(i), std::string(i % 12, 'v'));
      for (int i = num_keys / 2; i < 2 * num_keys; ++i) Put(second, KeyOf(i), "ten or so ");
      ASSERT_EQ(first.heap_bytes(), HeapBytesOf(first)) << num_keys << " keys, round " << round;
    }
    first.Split();
    second.Split();
    for (int sub = 0; sub < first.kSubTables; ++sub) first.Merge(sub, second, Append);
    EXPECT_EQ(first.heap_bytes(), HeapBytesOf(first)) << num_keys;
    EXPECT_GE(first.memory_bytes() - empty_bytes, first.heap_bytes());
    EXPECT_GT(first.heap_bytes(), 0);
  }
}

TEST(ValueMemory, FollowsStringsTuplesAndMembers) {
  struct Sketch {
    std::int64_t heap_bytes() const { return 7; }
  };
  EXPECT_FALSE(ValueMemory<double>::kOwnsHeap);
  EXPECT_EQ(ValueMemory<std::string>::HeapBytes("short"), 0);
  EXPECT_GE(ValueMemory<std::string>::HeapBytes(std::string(100, 'x')), 101);
  EXPECT_EQ(ValueMemory<Sketch>::HeapBytes({}), 7);
  using Both = std::tuple<std::int64_t, Sketch, std::string>;
  EXPECT_GE(ValueMemory<Both>::HeapBytes({1, {}, std::string(100, 'x')}), 108);
  EXPECT_FALSE((ValueMemory<std::tuple<int, double>>::kOwnsHeap));
}

TEST(CombineTable, MergePutsOwnValuesFirst) {
  CombineTable<std::string> first, second;
  std::map<std::string, std::string> expected;
  for (int i = 0; i < 9000; ++i) {
    if (i % 3 != 0) Put(first, KeyOf(i), "a");
    if (i % 3 != 1) Put(second, KeyOf(i), "b");
    expected[KeyOf(i)] = i % 3 == 0 ? "b" : i % 3 == 1 ? "a" : "ab";
  }
  first.Split();
  second.Split();
  for (int sub = 0; sub < first.kSubTables; ++sub) {
    first.Merge(sub, second, Append);
    if (sub % 2 == 0) second.Drop(sub);
  }
  EXPECT_EQ(Contents(first), expected);
  EXPECT_GT(second.size(), 0);
  for (int sub = 1; sub < first.kSubTables; sub += 2) second.Drop(sub);
  EXPECT_EQ(second.size(), 0);
  EXPECT_EQ(Contents(first), expected);
}

// A number as a key of eight bytes.
void PutNumber(CombineTable<std::int64_t>& table, std::uint64_t number, std::int64_t value) {
  char key[8 + kInlineKeyBytes] = {};
  std::memcpy(key, &number, sizeof number);
  table.Upsert(PackKey(key, 8), value, [](std::int64_t& into, std::int64_t from) { into += from; });
}

// By number: the sum of its values.
std::vector<std::int64_t> SumsOf(const CombineTable<std::int64_t>& table, std::size_t numbers) {
  std::vector<std::int64_t> sums(numbers);
  for (int sub = 0; sub < table.kSubTables; ++sub) {
    table.ForEach(sub, [&](const auto& entry) { sums[entry.word0] += entry.value; });
  }
  return sums;
}

struct Sum {
  std::int64_t sum = 0;
  std::int64_t count = 0;
};
struct AddSums {
  void operator()(Sum& into, const Sum& from) const {
    into.sum += from.sum;
    into.count += from.count;
  }
};

// Short and long keys of a table that stays small or does not, as a map has them.
RC_GTEST_PROP(CombineTableProperty, SmallOnesFoldAsAMapDoes, ()) {
  const int num_keys = *rc::gen::element(1, 50, 1200, 2048, 4000);
  const auto longest = *rc::gen::element<std::size_t>(0, 11, 12, 13, 40);
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  CombineTable<Sum> table;
  std::map<std::string, Sum> expected;
  AddSums fold;
  for (int i = 0; i < 3 * num_keys; ++i) {
    std::string key = std::to_string(1000 + random() % static_cast<std::uint64_t>(num_keys));
    if (random() % 2 == 0) key.append(longest, 'x');
    const Sum value{i, 1};
    const auto [kept, is_new] = expected.try_emplace(key, value);
    if (!is_new) fold(kept->second, value);
    std::string padded = key;
    padded.append(kInlineKeyBytes, static_cast<char>(random()));
    const PackedKey packed = PackKey(padded.data(), static_cast<std::uint32_t>(key.size()));
    const auto& entry = table.small() ? table.UpsertSmall(packed, value, fold)
                                      : table.UpsertSplit(packed, value, fold);
    RC_ASSERT(entry.key() == key);
    RC_ASSERT(entry.value.sum == kept->second.sum);
  }
  RC_ASSERT(table.size() == static_cast<std::int64_t>(expected.size()));
  table.Split();
  std::int64_t visited = 0;
  for (int sub = 0; sub < table.kSubTables; ++sub) {
    table.ForEach(sub, [&](const auto& entry) {
      const Sum& sum = expected.at(std::string(entry.key()));
      RC_ASSERT(entry.value.sum == sum.sum);
      RC_ASSERT(entry.value.count == sum.count);
      ++visited;
    });
  }
  RC_ASSERT(visited == table.size());
}

// As reducers read sections, and as slots merge their tables: keys in the order of their places in
// another table, so many that sub-tables take the size of their neighbours, and grow early.
TEST(CombineTable, LargeTablesGrowWhileKeysComeInTheOrderOfPlaces) {
  constexpr std::size_t kNumbers = 1'500'000;
  std::vector<std::int64_t> expected(kNumbers);
  CombineTable<std::int64_t> first, second;
  for (std::size_t i = 0; i < kNumbers; ++i) {
    if (i % 4 != 0) PutNumber(first, i, 1);
    if (i % 4 == 0 || i % 8 == 1) PutNumber(second, i, 100);
    expected[i] = (i % 4 != 0 ? 1 : 0) + (i % 4 == 0 || i % 8 == 1 ? 100 : 0);
  }
  CombineTable<std::int64_t> read;
  for (const auto* section : {&first, &second}) {
    for (int sub = 0; sub < section->kSubTables; ++sub) {
      section->ForEach(sub, [&](const auto& entry) { PutNumber(read, entry.word0, entry.value); });
    }
  }
  EXPECT_EQ(read.size(), static_cast<std::int64_t>(kNumbers));
  EXPECT_EQ(SumsOf(read, kNumbers), expected);

  for (int sub = 0; sub < first.kSubTables; ++sub) {
    first.Merge(sub, second, [](std::int64_t& into, std::int64_t from) { into += from; });
  }
  EXPECT_EQ(first.size(), static_cast<std::int64_t>(kNumbers));
  EXPECT_EQ(SumsOf(first, kNumbers), expected);
}

TEST(CombineTable, WhatIsDroppedIsTheStoresAgain) {
  const auto slabs = std::make_shared<SlabStore>();
  CombineTable<std::int64_t> first(slabs);
  CombineTable<std::int64_t> second(slabs);
  constexpr std::uint64_t kNumbers = 300'000;
  for (std::uint64_t i = 0; i < kNumbers; ++i) {
    PutNumber(first, i, 1);
    PutNumber(second, i, 1);
  }
  const std::int64_t kept_bytes = slabs->kept_bytes();
  const std::int64_t second_bytes = second.memory_bytes();
  for (int sub = 0; sub < first.kSubTables; ++sub) {
    first.Merge(sub, second, [](std::int64_t& into, std::int64_t from) { into += from; });
    second.Drop(sub);
  }
  EXPECT_EQ(first.size(), static_cast<std::int64_t>(kNumbers));
  constexpr std::int64_t kFirstRegion = 1 << 20;
  EXPECT_GT(slabs->kept_bytes() - kept_bytes, second_bytes - kFirstRegion);
  EXPECT_LT(second.memory_bytes(), kFirstRegion);
}

RC_GTEST_PROP(PackedKeyProperty, HashDoesNotDependOnWhatFollows, ()) {
  const auto key =
      *rc::gen::container<std::string>(*rc::gen::inRange(0, 60), rc::gen::arbitrary<char>());
  const auto behind = *rc::gen::container<std::string>(16, rc::gen::arbitrary<char>());
  const std::string text = key + behind;
  const PackedKey packed = PackKey(text.data(), static_cast<std::uint32_t>(key.size()));
  RC_ASSERT(packed.hash == HashKey(key));
}

// The planner cuts the key space by position, so positions of similar keys must be spread evenly.
TEST(PackedKey, PositionsAreSpreadEvenly) {
  constexpr int kKeys = 100000, kBins = 64;
  for (const char* pattern : {"%d", "station-%06d", "user:%d:clicks-per-hour", "%010d"}) {
    std::vector<int> high(kBins), low(kBins);
    for (int i = 0; i < kKeys; ++i) {
      char text[64];
      std::snprintf(text, sizeof text, pattern, i);
      const std::uint64_t position = KeyPosition(HashKey(text));
      ++high[position >> (kKeyPositionBits - 6)];
      ++low[position & (kBins - 1)];
    }
    // Expected 1562 each with a standard deviation of 39.
    for (int bin = 0; bin < kBins; ++bin) {
      EXPECT_NEAR(high[static_cast<std::size_t>(bin)], kKeys / kBins, 250) << pattern;
      EXPECT_NEAR(low[static_cast<std::size_t>(bin)], kKeys / kBins, 250) << pattern;
    }
  }
}

// Keys made by the author, not found in the block; a value with memory; a key type of numbers.
struct LengthsOfLines {
  using Reader = TextLines;
  using Key = std::tuple<std::int32_t, std::string>;
  using Value = std::string;

  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    emit({static_cast<std::int32_t>(line.size()) - 3, std::string(line.size(), 'k')},
         std::string(line));
  }
  void Combine(std::string& into, const std::string& from) const { into += "+" + from; }
  void Format(const KeyView<Key>& key, const std::string& value, std::string& out) const {
    out += std::to_string(std::get<0>(key)) + ":" + value + "\n";
  }
};

TEST(CombineLayer, KeysOfTheAuthorsMakingAndOrderOfInput) {
  std::string text, longest(40000, 'z');
  text = "bb\naaaaaa\ncc\n\n" + longest + "\ndd\n";
  const testing::ScratchFile file(text);
  for (int mappers = 1; mappers < 6; ++mappers) {
    const auto cut = testing::EvenCut({file.path()}, mappers, 1, mappers % 3 + 1);
    const auto parts = testing::RunJob(*MakeJobProgram(LengthsOfLines()), cut);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_EQ((*parts)[0], "-3:\n-1:bb+cc+dd\n3:aaaaaa\n39997:" + longest + "\n");
  }
}

// The example of jobs/api/README.md.
struct LongestLine {
  using Reader = CsvRows;
  using Key = std::string;
  using Value = std::int64_t;
  static constexpr std::array<std::string_view, 1> kCounters = {"short_rows"};

  template <typename Emit>
  void Map(const CsvRow& row, Emit& emit) {
    if (row.fields.size() < 2) return emit.Increment(0);
    emit(row.fields[0], static_cast<std::int64_t>(row.fields[1].size()));
  }
  void Combine(Value& into, const Value& from) const { into = std::max(into, from); }
  void Format(std::string_view user, const Value& length, std::string& out) const {
    out.append(user).append("\t").append(std::to_string(length)).append("\n");
  }
};

TEST(CombineLayer, ExampleOfTheReadme) {
  const testing::ScratchFile file("ann,hello\nbob\n\"ann\",\"a, longer text\"\nbob,x\n");
  const auto parts =
      testing::RunJob(*MakeJobProgram(LongestLine()), testing::EvenCut({file.path()}, 2, 1, 1));
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0], "ann\t14\nbob\t1\n");
}

}  // namespace
}  // namespace weir
