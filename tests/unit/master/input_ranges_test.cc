#include "runtime/master/input/input_ranges.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jobs/api/program.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"

namespace weir::master {
namespace {

TEST(InputRangesTest, CutsAcrossFilesAndSkipsEmptyOnes) {
  const InputRanges ranges({{{"/a", 10}, {"/empty", 0}, {"/b", 5}, {"/c", 7}}, 22});
  const auto cut = ranges.Cut(8, 16);
  ASSERT_EQ(cut.size(), 3u);
  EXPECT_EQ(cut[0].path(), "/a");
  EXPECT_EQ(cut[0].begin(), 8);
  EXPECT_EQ(cut[0].end(), 10);
  EXPECT_EQ(cut[1].path(), "/b");
  EXPECT_EQ(cut[1].begin(), 0);
  EXPECT_EQ(cut[1].end(), 5);
  EXPECT_EQ(cut[2].path(), "/c");
  EXPECT_EQ(cut[2].end(), 1);
  EXPECT_EQ(cut[2].file_bytes(), 7);
}

TEST(InputRangesTest, CutsInsideAGzipFileMoveToItsNearerBorder) {
  const InputRanges ranges({{{"/a", 10}, {"/b.gz", 10}, {"/c", 10}}, 30});
  // The first half of /b.gz goes to its beginning, the second to its end.
  EXPECT_EQ(ranges.Cut(0, 14).size(), 1u);
  const auto with_file = ranges.Cut(14, 22);
  ASSERT_EQ(with_file.size(), 2u);
  EXPECT_EQ(with_file[0].path(), "/b.gz");
  EXPECT_EQ(with_file[0].begin(), 0);
  EXPECT_EQ(with_file[0].end(), 10);
  EXPECT_EQ(with_file[1].end(), 2);
  EXPECT_TRUE(ranges.Cut(12, 14).empty());
  EXPECT_TRUE(ranges.Cut(15, 17).empty());
  EXPECT_EQ(ranges.Cut(11, 19).size(), 1u);
}

TEST(InputRangesTest, GzipFilesAreUncutRanges) {
  EXPECT_TRUE(UncutRanges({{{"/a", 10}}, 10}).empty());
  const auto uncut =
      UncutRanges({{{"/a", 10}, {"/empty.gz", 0}, {"/b.gz", 5}, {"/c", 7}, {"/d.gz", 1}}, 23});
  ASSERT_EQ(uncut.size(), 2u);
  EXPECT_EQ(uncut[0].begin, 10);
  EXPECT_EQ(uncut[0].end, 15);
  EXPECT_EQ(uncut[1].begin, 22);
  EXPECT_EQ(uncut[1].end, 23);
}

InputList OneFileWithBorders() {
  InputList list{{{"/a", 10}, {"/b.zst", 30}, {"/c", 10}}, 50};
  list.files[1].borders = {{0, 0}, {8, 100}, {20, 250}, {30, 400}};
  return list;
}

TEST(InputRangesTest, CutsInsideAPackedFileWithBordersMoveToTheNearest) {
  const InputRanges ranges(OneFileWithBorders());
  const auto first = ranges.Cut(0, 17);  // 7 of /b.zst
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[1].end(), 8);
  ASSERT_EQ(first[1].borders_size(), 2);
  EXPECT_EQ(first[1].borders(1).at(), 8);
  EXPECT_EQ(first[1].borders(1).text_at(), 100);
  EXPECT_EQ(first[1].text_bytes(), 400);
  EXPECT_EQ(first[0].borders_size(), 0);
  EXPECT_EQ(first[0].text_bytes(), 0);
  const auto rest = ranges.Cut(17, 50);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].begin(), 8);
  EXPECT_EQ(rest[0].borders_size(), 3);
  // The middle goes to the end of its piece, as the planner's does.
  EXPECT_EQ(ranges.Cut(24, 50)[0].begin(), 20);
  EXPECT_TRUE(ranges.Cut(25, 29).empty());
}

TEST(InputRangesTest, WhatLiesBetweenBordersIsUncut) {
  const auto uncut = UncutRanges(OneFileWithBorders());
  ASSERT_EQ(uncut.size(), 3u);
  EXPECT_EQ(uncut[0].begin, 10);
  EXPECT_EQ(uncut[0].end, 18);
  EXPECT_EQ(uncut[2].end, 40);
}

TEST(InputRangesTest, NothingOfNothing) {
  EXPECT_TRUE(InputRanges({{}, 0}).Cut(0, 0).empty());
  EXPECT_TRUE(InputRanges({{{"/empty", 0}}, 0}).Cut(0, 0).empty());
  EXPECT_TRUE(InputRanges({{{"/a", 3}}, 3}).Cut(2, 2).empty());
}

RC_GTEST_PROP(InputRanges, CutsTileEveryFileOnce, ()) {
  InputList list;
  for (const int bytes : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100))) {
    const char* const suffix = bytes % 3 == 0 ? ".gz" : "";
    list.files.push_back({"/" + std::to_string(list.files.size()) + suffix, bytes});
    list.total_bytes += bytes;
  }
  std::vector<std::int64_t> borders{0, list.total_bytes};
  for (const int cut : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000))) {
    borders.push_back(list.total_bytes * cut / 1000);
  }
  std::sort(borders.begin(), borders.end());
  const InputRanges ranges(list);
  std::map<std::string, std::int64_t> covered;
  for (std::size_t i = 1; i < borders.size(); ++i) {
    for (const v1::InputRange& range : ranges.Cut(borders[i - 1], borders[i])) {
      RC_ASSERT(range.begin() == covered[range.path()]);
      RC_ASSERT(range.end() > range.begin());
      if (IsPacked(range.path())) RC_ASSERT(range.end() == range.file_bytes());
      covered[range.path()] = range.end();
    }
  }
  for (const InputFile& file : list.files) RC_ASSERT(covered[file.path] == file.bytes);
}

}  // namespace
}  // namespace weir::master
