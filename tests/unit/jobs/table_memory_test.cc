#include "jobs/engine/table/table_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

namespace weir {
namespace {

// Arrays are zero, lie within the memory that is counted and do not overlap, whatever comes and
// goes; the store has everything at the end.
RC_GTEST_PROP(TableMemoryProperty, ArraysAreZeroAndApart, ()) {
  const std::size_t entry_bytes = 8 * *rc::gen::inRange<std::size_t>(3, 20);
  const auto store = std::make_shared<SlabStore>();
  std::int64_t store_bytes = 0;
  {
    TableMemory memory(entry_bytes, store);
    std::map<char*, int> out;  // log2 of the entries, by place
    const int steps = *rc::gen::inRange(1, 40);
    for (int step = 0; step < steps; ++step) {
      if (out.empty() || *rc::gen::inRange(0, 3) > 0) {
        const bool large = *rc::gen::inRange(0, 20) == 0;
        const int log2 = large ? 15 : *rc::gen::inRange(TableMemory::kLog2LeastEntries, 12);
        char* const array = static_cast<char*>(memory.Take(log2));
        const std::size_t bytes = entry_bytes << log2;
        const auto behind = out.lower_bound(array);
        if (behind != out.end()) RC_ASSERT(array + bytes <= behind->first);
        if (behind != out.begin()) {
          const auto& [before, before_log2] = *std::prev(behind);
          RC_ASSERT(before + (entry_bytes << before_log2) <= array);
        }
        RC_ASSERT(array[0] == 0 && std::memcmp(array, array + 1, bytes - 1) == 0);
        std::memset(array, 'x', bytes);
        out.emplace(array, log2);
      } else {
        auto at = out.begin();
        std::advance(at, *rc::gen::inRange<std::size_t>(0, out.size()));
        memory.Return(at->first, at->second);
        out.erase(at);
      }
    }
    std::int64_t out_bytes = 0;
    for (const auto& [array, log2] : out) {
      out_bytes += static_cast<std::int64_t>(entry_bytes << log2);
    }
    RC_ASSERT(out_bytes <= memory.bytes());
    store_bytes = store->kept_bytes();
  }
  RC_ASSERT(store->kept_bytes() >= store_bytes);
}

// As sub-tables grow: one after the other, each returns its half when it has the whole.
TEST(TableMemory, TakesNoMoreThanGrownTablesUse) {
  constexpr std::size_t kEntryBytes = 32;
  constexpr int kTables = 64;
  constexpr int kLog2Last = 14;
  const auto store = std::make_shared<SlabStore>();
  TableMemory memory(kEntryBytes, store);
  std::vector<void*> tables;
  for (int i = 0; i < kTables; ++i) tables.push_back(memory.Take(TableMemory::kLog2LeastEntries));
  for (int log2 = TableMemory::kLog2LeastEntries + 1; log2 <= kLog2Last; ++log2) {
    for (void*& table : tables) {
      void* const larger = memory.Take(log2);
      memory.Return(table, log2 - 1);
      table = larger;
    }
  }
  const auto used_bytes = static_cast<std::int64_t>(kTables * kEntryBytes << kLog2Last);
  EXPECT_LE(memory.bytes(), used_bytes + used_bytes / 4);
  EXPECT_LE(memory.bytes() + store->kept_bytes(), used_bytes + used_bytes / 4);
}

}  // namespace
}  // namespace weir
