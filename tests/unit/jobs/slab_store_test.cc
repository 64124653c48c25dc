#include "jobs/engine/table/slab_store.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "jobs/engine/table/byte_arena.h"
#include "jobs/engine/table/slab_array.h"

namespace weir {
namespace {

constexpr std::size_t kUnit = SlabStore::kUnitBytes;

bool IsZero(const char* data, std::size_t bytes) {
  return std::all_of(data, data + bytes, [](char c) { return c == 0; });
}

TEST(SlabStore, GivesAgainWhatCameBackAndJoinsNeighbours) {
  SlabStore store;
  std::vector<char*> slabs;
  for (int i = 0; i < 4; ++i) {
    const SlabStore::Slab slab = store.Take(kUnit);
    EXPECT_TRUE(slab.cleared);
    EXPECT_TRUE(IsZero(slab.data, kUnit));
    std::memset(slab.data, 'x', kUnit);
    slabs.push_back(slab.data);
  }
  EXPECT_EQ(store.kept_bytes(), 0);
  for (char* slab : slabs) store.Return(slab, kUnit);
  EXPECT_EQ(store.kept_bytes(), 4 * static_cast<std::int64_t>(kUnit));
  // Given one after the other, so they are one piece now.
  const SlabStore::Slab large = store.Take(4 * kUnit);
  EXPECT_FALSE(large.cleared);
  EXPECT_EQ(large.data, *std::min_element(slabs.begin(), slabs.end()));
  EXPECT_EQ(store.kept_bytes(), 0);
  store.Return(large.data, 4 * kUnit);
}

// Otherwise a step would hold what it uses and what the step before left in small pieces.
TEST(SlabStore, GivesUpPiecesThatAreTooSmall) {
  SlabStore store;
  char* const first = store.Take(kUnit).data;
  char* const between = store.Take(kUnit).data;
  char* const last = store.Take(kUnit).data;
  store.Return(first, kUnit);
  store.Return(last, kUnit);
  const SlabStore::Slab large = store.Take(2 * kUnit);
  EXPECT_TRUE(large.cleared);
  EXPECT_EQ(store.kept_bytes(), 0);
  store.Return(between, kUnit);
  store.Return(large.data, 2 * kUnit);
}

TEST(SlabStore, IsSharedByArraysAndArenas) {
  const auto store = std::make_shared<SlabStore>();
  {
    SlabArray<std::uint64_t> array(*store, kUnit);  // 8 units
    array[kUnit - 1] = 7;
    SlabArray<std::uint64_t> moved = std::move(array);
    EXPECT_EQ(moved[kUnit - 1], 7);
    EXPECT_EQ(store->kept_bytes(), 0);
    const SlabArray<std::uint64_t> small(*store, 10);
    small[9] = 1;
  }
  EXPECT_EQ(store->kept_bytes(), 8 * static_cast<std::int64_t>(kUnit));
  ByteArena arena(store);
  std::memset(arena.Take(3 * kUnit), 'y', 3 * kUnit);
  EXPECT_EQ(store->kept_bytes(), 5 * static_cast<std::int64_t>(kUnit));
  arena.Clear();
  EXPECT_EQ(store->kept_bytes(), 8 * static_cast<std::int64_t>(kUnit));
}

// Small pages are fresh in every step, so that short ones would take twice as long for a byte.
TEST(SlabStore, KeepsThePagesOfAnArenaThatTakesWholeOnesEarly) {
  const auto store = std::make_shared<SlabStore>();
  constexpr std::size_t kBytes = 1 << 20;
  {
    ByteArena grows(store);
    ByteArena takes_units(store, kBytes / 2);
    for (std::size_t i = 0; i < kBytes / 100; ++i) {
      grows.Take(100);
      takes_units.Take(100);
    }
    EXPECT_LT(grows.bytes(), static_cast<std::int64_t>(kBytes + kBytes / 8));
    EXPECT_GE(takes_units.bytes(), static_cast<std::int64_t>(kUnit));
  }
  EXPECT_EQ(store->kept_bytes(), static_cast<std::int64_t>(kUnit));
}

// Slabs do not overlap, hold what was put there, and the store never holds more than was in use.
RC_GTEST_PROP(SlabStoreProperty, KeepsNoMoreThanWasInUse, ()) {
  struct Out {
    char* data;
    std::size_t bytes;
    char mark;
  };
  SlabStore store;
  std::vector<Out> out;
  std::int64_t used_bytes = 0;
  std::int64_t most_bytes = 0;
  const int steps = *rc::gen::inRange(1, 30);
  for (int step = 0; step < steps; ++step) {
    const bool take = out.empty() || *rc::gen::arbitrary<bool>();
    if (take) {
      const std::size_t bytes = kUnit * *rc::gen::inRange<std::size_t>(1, 5);
      const SlabStore::Slab slab = store.Take(bytes);
      RC_ASSERT(reinterpret_cast<std::uintptr_t>(slab.data) % kUnit == 0U);
      if (slab.cleared) RC_ASSERT(slab.data[0] == 0 && slab.data[bytes - 1] == 0);
      out.push_back({slab.data, bytes, static_cast<char>(step + 1)});
      slab.data[0] = slab.data[bytes - 1] = out.back().mark;
      used_bytes += static_cast<std::int64_t>(bytes);
    } else {
      const auto at = out.begin() +
                      *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(out.size()));
      RC_ASSERT(at->data[0] == at->mark && at->data[at->bytes - 1] == at->mark);
      store.Return(at->data, at->bytes);
      used_bytes -= static_cast<std::int64_t>(at->bytes);
      out.erase(at);
    }
    most_bytes = std::max(most_bytes, used_bytes);
    RC_ASSERT(used_bytes + store.kept_bytes() <= most_bytes);
  }
  for (const Out& slab : out) {
    RC_ASSERT(slab.data[0] == slab.mark && slab.data[slab.bytes - 1] == slab.mark);
    store.Return(slab.data, slab.bytes);
  }
}

}  // namespace
}  // namespace weir
