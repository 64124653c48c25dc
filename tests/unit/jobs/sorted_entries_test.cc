#include "jobs/engine/table/sorted_entries.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "jobs/engine/table/combine_table.h"

namespace weir {
namespace {

using Table = CombineTable<std::int64_t>;
using Sorted = SortedEntry<Table::Entry>;

// Keys that are held in an entry and longer ones, beginnings in common, NULs at their ends: sorted
// they are in the order of their bytes.
RC_GTEST_PROP(SortedEntriesProperty, EntriesAreInTheOrderOfKeys, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const auto alike = *rc::gen::inRange<std::size_t>(0, 90);
  const int num_keys = *rc::gen::element(0, 1, 50, 3000);
  Table table;
  std::vector<std::string> expected;
  for (int i = 0; i < num_keys; ++i) {
    std::string key(random() % 3 == 0 ? alike : alike / 3, 'x');
    key += std::to_string(random() % 5000) + std::string(random() % 3, '\0');
    expected.push_back(key);
    key.resize(key.size() + kInlineKeyBytes);
    table.Upsert(PackKey(key.data(), static_cast<std::uint32_t>(expected.back().size())), 1,
                 [](std::int64_t& into, std::int64_t from) { into += from; });
  }
  std::sort(expected.begin(), expected.end());
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());

  table.Split();
  std::vector<Sorted> entries;
  for (int sub = 0; sub < Table::kSubTables; ++sub) {
    table.ForEach(sub, [&](const Table::Entry& entry) { entries.push_back(Sorted::Of(entry)); });
  }
  std::vector<Sorted> spare(entries.size());
  SortEntries(entries.data(), entries.size(), spare.data());
  RC_ASSERT(std::is_sorted(entries.begin(), entries.end()));
  std::vector<std::string> keys;
  const absl::Status status =
      VisitSorted(absl::Span<const Sorted>(entries), [&](const Table::Entry& entry) {
        keys.emplace_back(entry.key());
        return absl::OkStatus();
      });
  RC_ASSERT(status.ok());
  RC_ASSERT(keys == expected);
}

}  // namespace
}  // namespace weir
