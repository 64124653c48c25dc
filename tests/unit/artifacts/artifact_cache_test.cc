#include "runtime/artifacts/artifact_cache.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace weir {
namespace {

constexpr ArtifactCache::Bounds kBounds = {.bytes_max = 100, .age_max = absl::Hours(1)};

MonoTime At(int seconds) { return MonoTime::FromNanos(seconds * 1'000'000'000LL); }

TEST(ArtifactCacheTest, TheLongestUnusedGoesFirst) {
  ArtifactCache cache(kBounds);
  cache.Put("a", 40, At(1));
  cache.Put("b", 40, At(2));
  EXPECT_TRUE(cache.TakeDoomed(At(3)).empty());
  cache.Use("a", At(3));
  cache.Put("c", 40, At(4));
  EXPECT_EQ(cache.TakeDoomed(At(4)), std::vector<std::string>{"b"});
  EXPECT_EQ(cache.BytesOf("b"), std::nullopt);
  EXPECT_EQ(cache.BytesOf("a"), 40);
  EXPECT_EQ(cache.bytes(), 80);
}

TEST(ArtifactCacheTest, WhatAJobUsesStays) {
  ArtifactCache cache(kBounds);
  cache.Hold("job", "a");
  cache.Put("a", 90, At(1));
  cache.Put("b", 90, At(2));
  EXPECT_EQ(cache.TakeDoomed(At(2)), std::vector<std::string>{"b"});
  EXPECT_TRUE(cache.TakeDoomed(At(100'000)).empty()) << "however old it is";
  EXPECT_FALSE(cache.HasRoomFor(11));
  EXPECT_TRUE(cache.HasRoomFor(10));
  cache.LetGo("job", At(100'000));
  EXPECT_TRUE(cache.HasRoomFor(100));
  EXPECT_TRUE(cache.TakeDoomed(At(100'001)).empty()) << "it was used a moment ago";
  EXPECT_EQ(cache.TakeDoomed(At(103'600)), std::vector<std::string>{"a"});
}

TEST(ArtifactCacheTest, TheLastOfItsHoldersLetsItGo) {
  ArtifactCache cache(kBounds);
  cache.Put("a", 10, At(0));
  cache.Hold("j1", "a");
  cache.Hold("j1", "a");  // told twice
  cache.Hold("j2", "a");
  cache.LetGo("j1", At(1));
  cache.LetGo("j1", At(1));
  EXPECT_TRUE(cache.TakeDoomed(At(9999)).empty());
  cache.LetGo("j2", At(9999));
  EXPECT_EQ(cache.TakeDoomed(At(99'999)), std::vector<std::string>{"a"});
}

TEST(ArtifactCacheTest, ADamagedOneIsNotThere) {
  ArtifactCache cache(kBounds);
  cache.Put("a", 10, At(0));
  cache.Hold("j", "a");
  cache.Drop("a");
  EXPECT_EQ(cache.BytesOf("a"), std::nullopt);
  EXPECT_EQ(cache.bytes(), 0);
  cache.Put("a", 10, At(1));
  EXPECT_TRUE(cache.TakeDoomed(At(99'999)).empty()) << "the new copy is held as the old one was";
}

// Against a model that keeps everything in plain sets and decides by looking at all of it.
RC_GTEST_PROP(ArtifactCacheTest, KeepsExactlyWhatItShould, ()) {
  struct Entry {
    std::int64_t bytes;
    int used;
  };
  ArtifactCache cache(kBounds);
  std::map<std::string, Entry> there;
  std::map<std::string, std::set<std::string>> held;
  const auto is_held = [&](const std::string& name) {
    return std::any_of(held.begin(), held.end(),
                       [&](const auto& entry) { return entry.second.contains(name); });
  };
  const int turns = *rc::gen::inRange(1, 60);
  int now = 0;
  for (int i = 0; i < turns; ++i) {
    now += *rc::gen::inRange(0, 1500);
    const std::string name(1, static_cast<char>('a' + *rc::gen::inRange(0, 6)));
    const std::string job(1, static_cast<char>('x' + *rc::gen::inRange(0, 3)));
    switch (*rc::gen::inRange(0, 6)) {
      case 0: {
        const std::int64_t bytes = *rc::gen::inRange(0, 60);
        cache.Put(name, bytes, At(now));
        there[name] = {bytes, now};
        break;
      }
      case 1:
        cache.Drop(name);
        there.erase(name);
        break;
      case 2:
        cache.Use(name, At(now));
        if (there.contains(name)) there[name].used = now;
        break;
      case 3:
        cache.Hold(job, name);
        held[job].insert(name);
        break;
      case 4:
        cache.LetGo(job, At(now));
        for (const std::string& one : held[job]) {
          if (there.contains(one)) there[one].used = now;
        }
        held[job].clear();
        break;
      default: {
        std::vector<std::string> doomed;
        while (true) {
          std::int64_t sum = 0;
          std::string oldest;
          for (const auto& [one, entry] : there) {
            sum += entry.bytes;
            if (is_held(one)) continue;
            if (oldest.empty() || entry.used < there[oldest].used) oldest = one;
          }
          if (oldest.empty() || (sum <= 100 && now - there[oldest].used < 3600)) break;
          doomed.push_back(oldest);
          there.erase(oldest);
        }
        RC_ASSERT(cache.TakeDoomed(At(now)) == doomed);
      }
    }
    std::int64_t sum = 0, sum_held = 0;
    for (const auto& [one, entry] : there) {
      RC_ASSERT(cache.BytesOf(one) == entry.bytes);
      sum += entry.bytes;
      if (is_held(one)) sum_held += entry.bytes;
    }
    RC_ASSERT(cache.bytes() == sum);
    RC_ASSERT(cache.empty() == there.empty());
    RC_ASSERT(cache.HasRoomFor(50) == (sum_held + 50 <= 100));
  }
}

}  // namespace
}  // namespace weir
