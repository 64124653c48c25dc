#pragma once

// Sorted sections of runs in memory, and their groups again.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "jobs/engine/merge/group_pieces.h"
#include "jobs/engine/sections/merged_sections.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/testing/memory_steps.h"

namespace weir::testing {

using Pair = std::pair<std::string, std::string>;
using Groups = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Sorted sections of these pairs.
inline std::vector<MemoryRun> RunsOf(std::vector<std::vector<Pair>> producers) {
  std::vector<MemoryRun> runs;
  for (std::vector<Pair>& pairs : producers) {
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& a, const Pair& b) { return a.first < b.first; });
    MemoryRun& run = runs.emplace_back();
    SectionWriter writer(run);
    EXPECT_TRUE(writer.Begin(0).ok());
    for (const Pair& pair : pairs) EXPECT_TRUE(writer.Add(pair.first, pair.second).ok());
    EXPECT_TRUE(writer.Finish().ok());
  }
  return runs;
}

inline absl::Status ReadGroups(const GroupPieces::Sources& sources, Groups& groups) {
  MergedSections merged(sources, [] { return false; });
  while (merged.NextGroup()) {
    groups.push_back({std::string(merged.key()), {}});
    std::string_view value;
    while (merged.NextValue(value)) groups.back().second.emplace_back(value);
  }
  return merged.status();
}

inline Groups AtOnce(const std::vector<MemoryRun>& runs) {
  Groups groups;
  EXPECT_TRUE(ReadGroups(SectionsOf(runs, 0), groups).ok());
  return groups;
}

inline std::vector<Pair> ManyPairs(std::uint64_t seed, std::size_t count, std::uint64_t distinct,
                                   std::size_t value_bytes) {
  std::mt19937_64 random(seed);
  std::vector<Pair> pairs(count);
  for (std::size_t i = 0; i < count; ++i) {
    pairs[i] = {std::to_string(random() % distinct), std::to_string(i)};
    pairs[i].second.resize(value_bytes, 'v');
  }
  return pairs;
}

}  // namespace weir::testing
