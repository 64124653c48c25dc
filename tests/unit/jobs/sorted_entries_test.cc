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

// Keys that are held in an entry and longer ones, beginnings in common, NULs at their ends: in as
// many lists as slots would have, merged, they are in the order of their bytes.
RC_GTEST_PROP(SortedEntriesProperty, MergedListsAreInTheOrderOfKeys, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const auto alike = *rc::gen::inRange<std::size_t>(0, 90);
  const auto num_lists = *rc::gen::inRange<std::size_t>(1, 6);
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
  std::vector<std::vector<Sorted>> lists(num_lists);
  for (int sub = 0; sub < Table::kSubTables; ++sub) {
    auto& list = lists[static_cast<std::size_t>(sub) % num_lists];
    table.ForEach(sub, [&](const Table::Entry& entry) { list.push_back(Sorted::Of(entry)); });
  }
  std::vector<absl::Span<const Sorted>> spans;
  for (auto& list : lists) {
    std::vector<Sorted> spare(list.size());
    SortEntries(list.data(), list.size(), spare.data());
    RC_ASSERT(std::is_sorted(list.begin(), list.end()));
    spans.emplace_back(list);
  }
  std::vector<std::string> keys;
  const absl::Status status = VisitMerged(spans, [&](const Table::Entry& entry) {
    keys.emplace_back(entry.key());
    return absl::OkStatus();
  });
  RC_ASSERT(status.ok());
  RC_ASSERT(keys == expected);
}

}  // namespace
}  // namespace weir
