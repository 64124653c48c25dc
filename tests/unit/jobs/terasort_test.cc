#include "jobs/terasort/terasort.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/engine/table/key_ranges.h"
#include "jobs/terasort/record_generator.h"
#include "jobs/terasort/sort_records.h"
#include "jobs/testing/in_process_job.h"

namespace weir::terasort {
namespace {

using testing::EvenCut;
using testing::RunJob;
using testing::ScratchFile;

std::unique_ptr<JobProgram> Program() {
  auto program = MakeDefinition()->MakeProgram({});
  EXPECT_TRUE(program.ok());
  return *std::move(program);
}

std::string SortedBySight(const std::string& bytes) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size(); at += kRecordBytes) {
    records.push_back(bytes.substr(at, kRecordBytes));
  }
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return a.substr(0, kKeyBytes) < b.substr(0, kKeyBytes);
  });
  std::string sorted;
  for (const std::string& record : records) sorted += record;
  return sorted;
}

std::string JoinParts(const absl::StatusOr<std::vector<std::string>>& parts) {
  EXPECT_TRUE(parts.ok()) << parts.status();
  std::string joined;
  for (const std::string& part : parts.value_or(std::vector<std::string>())) joined += part;
  return joined;
}

RC_GTEST_PROP(TeraSortProperty, PartsAreTheStablySortedInput, ()) {
  // Keys of few kinds in few bytes, so that there are ties and keys that share eight bytes.
  const auto kinds = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 40));
  std::string bytes;
  for (const int kind : kinds) {
    std::string record(kRecordBytes, static_cast<char>(bytes.size() / kRecordBytes));
    record.replace(0, kKeyBytes, std::string(kKeyBytes, '\x80'));
    record[static_cast<std::size_t>(kind % 10)] = static_cast<char>(kind * 6);
    bytes += record;
  }
  const ScratchFile file(bytes);
  const auto cut = EvenCut({file.path()}, *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 6),
                           *rc::gen::inRange(1, 4));
  RC_ASSERT(JoinParts(RunJob(*Program(), cut)) == SortedBySight(bytes));
}

TEST(TeraSort, ManyRecordsAreTheSameForAnyCut) {
  for (const double skew : {0.0, 0.9}) {
    std::string bytes;
    TeraRecords generator({.seed = 2, .skew = skew});
    for (int i = 0; i < 20'000; ++i) generator.Append(i, bytes);
    const ScratchFile file(bytes);
    const std::string sorted = SortedBySight(bytes);
    for (const auto& [mappers, reducers, slots] :
         std::vector<std::tuple<int, int, int>>{{1, 1, 1}, {3, 4, 2}, {2, 7, 1}}) {
      const auto parts = RunJob(*Program(), EvenCut({file.path()}, mappers, reducers, slots));
      EXPECT_EQ(JoinParts(parts), sorted) << skew << " " << mappers << " " << reducers;
      if (skew == 0 && reducers > 1) {
        for (const std::string& part : *parts) {
          EXPECT_NEAR(static_cast<double>(part.size()),
                      static_cast<double>(bytes.size()) / reducers,
                      0.1 * static_cast<double>(bytes.size()) / reducers);
        }
      }
    }
  }
}

// Keys rise -> places rise -> consumers rise, whatever the cuts: no key is parted.
RC_GTEST_PROP(TeraSortProperty, PlacesFollowKeys, ()) {
  const auto key = rc::gen::container<std::string>(
      kKeyBytes, rc::gen::weightedOneOf<char>({{3, rc::gen::arbitrary<char>()},
                                               {1, rc::gen::element('\0', '\xff', '\x7f')}}));
  std::string a = *key;
  std::string b = *key;
  // Often a long beginning in common.
  b.replace(0, *rc::gen::inRange<std::size_t>(0, kKeyBytes + 1), a, 0, 10);
  b.resize(kKeyBytes, 'x');
  if (b < a) std::swap(a, b);
  const SortRecords job;
  RC_ASSERT(job.Partition(a) <= job.Partition(b));
  RC_ASSERT(job.Partition(a) >= 0);
  RC_ASSERT(job.Partition(b) < 1);
  std::vector<double> ends = *rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(0, 1000), [](int i) { return i / 1000.0; }));
  ends.push_back(1);
  std::sort(ends.begin(), ends.end());
  const KeyRanges ranges(ends);
  RC_ASSERT(ranges.ConsumerOf(KeyRanges::PositionOf(job.Partition(a))) <=
            ranges.ConsumerOf(KeyRanges::PositionOf(job.Partition(b))));
}

TEST(TeraSort, EmptyOneRecordAndOneKey) {
  const ScratchFile empty("");
  EXPECT_EQ(JoinParts(RunJob(*Program(), EvenCut({empty.path()}, 1, 3, 1))), "");
  std::string one;
  TeraRecords({}).Append(7, one);
  const ScratchFile single(one);
  EXPECT_EQ(JoinParts(RunJob(*Program(), EvenCut({single.path()}, 3, 3, 2))), one);
  std::string equal;
  for (char i = 0; i < 100; ++i) {
    equal += std::string(kKeyBytes, 'k') + std::string(kRecordBytes - kKeyBytes, i);
  }
  const ScratchFile same(equal);
  EXPECT_EQ(JoinParts(RunJob(*Program(), EvenCut({same.path()}, 4, 3, 2))), equal);
}

TEST(TeraSort, NamesTheRecordWithinWhichAFileEnds) {
  const ScratchFile file(std::string(1234, 'x'));
  const auto parts = RunJob(*Program(), EvenCut({file.path()}, 2, 2, 1));
  const auto bad = BadRecordOf(parts.status());
  ASSERT_TRUE(bad.has_value()) << parts.status();
  EXPECT_EQ(bad->file, file.path());
  EXPECT_EQ(bad->byte_offset, 1200);
}

TEST(TeraSort, PresentsWhatWasSorted) {
  const ScratchFile a(std::string(300, 'x')), b("");
  std::ostringstream out;
  const std::vector<std::string> parts = {a.path(), b.path()};
  EXPECT_TRUE(MakeDefinition()->Present(parts, {}, out).ok());
  EXPECT_EQ(out.str(), "3 records sorted into 2 parts\n");
  const std::vector<std::string> missing = {a.path() + "-none"};
  EXPECT_FALSE(MakeDefinition()->Present(missing, {}, out).ok());
}

}  // namespace
}  // namespace weir::terasort
