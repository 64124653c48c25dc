// Which earlier run a job goes by: by job and size, and by the kind of its data.

#include "runtime/master/learning/shape_history.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "runtime/master/learning/data_seen.h"

namespace weir::master {
namespace {

using Look = v1::JobShapeLearned::InputLook;

constexpr std::int64_t kBytes = 10'000'000;
constexpr double kJobSecondsPerByte = 2e-9;
constexpr int kAllKinds = 25;
constexpr int kMost = static_cast<int>(ShapeHistory::kDataKindsMax);
constexpr int kNewFiles = 1'000'000;

v1::JobSpec WordCount() {
  v1::JobSpec spec;
  spec.set_job("wordcount");
  return spec;
}

/// What 64 KiB of that kind of data show, of kAllKinds: any two have twice as many lines or words.
/// Inputs of one kind, which `more` < 100 tells apart, differ by less than chance.
Look LookOf(int kind, int more = 0) {
  Look look;
  look.set_bytes(65'536);
  look.set_lines(500 << kind % 5);
  look.set_words((2'000 << kind / 5) + more);
  look.set_new_words(1'000);
  return look;
}

/// A run on files of that name whose rate is `rate` times the job's own.
v1::JobShapeLearned RunOfFiles(int files, double rate, std::int64_t bytes = kBytes) {
  v1::JobShapeLearned shape;
  shape.set_job("wordcount");
  shape.set_num_workers(2);
  shape.set_input_bytes(bytes);
  shape.set_input_fingerprint(static_cast<std::uint64_t>(files));
  shape.set_map_seconds_per_byte(rate * kJobSecondsPerByte);
  return shape;
}

v1::JobShapeLearned RunOn(int kind, int files, double rate, std::int64_t bytes = kBytes) {
  v1::JobShapeLearned shape = RunOfFiles(files, rate, bytes);
  *shape.mutable_look() = LookOf(kind, files % 100);
  return shape;
}

/// What counts for an input that is not sampled, as times of the job's own rate; 0: nothing does.
double RateFor(const ShapeHistory& history, const InputSeen& input) {
  const v1::JobShapeLearned* found = history.Find(WordCount(), input, 2);
  if (found == nullptr || !CountsUnsampled(*found, input.look, kJobSecondsPerByte)) return 0;
  return found->map_seconds_per_byte() / kJobSecondsPerByte;
}

double RateForKind(const ShapeHistory& history, int kind, int files = kNewFiles,
                   std::int64_t bytes = kBytes) {
  const Look look = LookOf(kind, files % 100);
  return RateFor(history, {bytes, static_cast<std::uint64_t>(files), &look});
}

TEST(ShapeHistoryTest, SimilarIsTheSameJobOfASimilarSize) {
  ShapeHistory history;
  for (const std::int64_t bytes : {1'000'000, 100'000'000}) history.Take(RunOfFiles(0, 1, bytes));
  v1::JobSpec spec = WordCount();
  ASSERT_NE(history.Find(spec, {3'000'000}, 2), nullptr);
  EXPECT_EQ(history.Find(spec, {3'000'000}, 2)->input_bytes(), 1'000'000);
  EXPECT_EQ(history.Find(spec, {60'000'000}, 2)->input_bytes(), 100'000'000);
  EXPECT_EQ(history.Find(spec, {5'000'000}, 2), nullptr);
  EXPECT_EQ(history.Find(spec, {1'000'000}, 3), nullptr);
  spec.add_parameters()->set_name("top");
  EXPECT_EQ(history.Find(spec, {1'000'000}, 2), nullptr);
}

TEST(ShapeHistoryTest, DataThatLooksAlikeGoesByItsOwnRuns) {
  ShapeHistory history;
  history.Take(RunOn(0, 1, 1.5));
  history.Take(RunOn(1, 2, 3));
  EXPECT_DOUBLE_EQ(RateForKind(history, 0), 1.5);
  EXPECT_DOUBLE_EQ(RateForKind(history, 1), 3);
  // The next run of a kind takes the place of the one before.
  history.Take(RunOn(0, 3, 1.25));
  EXPECT_DOUBLE_EQ(RateForKind(history, 0), 1.25);
  EXPECT_DOUBLE_EQ(RateForKind(history, 1), 3);
}

TEST(ShapeHistoryTest, DataUnlikeAllGoesByNone) {
  ShapeHistory history;
  history.Take(RunOn(0, 1, 1.5));
  history.Take(RunOn(1, 2, 3));
  EXPECT_EQ(RateForKind(history, 2), 0);
  // But for a job whose own rates are no guide: that goes by its last run.
  history.Take(RunOn(0, 1, 1.1 * kRatesTell));
  EXPECT_DOUBLE_EQ(RateForKind(history, 2), 1.1 * kRatesTell);
}

TEST(ShapeHistoryTest, TheSameFilesAreTheSameDataHoweverNearOthersLook) {
  ShapeHistory history;
  v1::JobShapeLearned few_words = RunOn(0, 1, 1.5);
  v1::JobShapeLearned many_words = RunOn(0, 2, 3);
  for (v1::JobShapeLearned* run : {&few_words, &many_words}) {
    run->mutable_seen()->set_records_per_byte(0.2);
    run->mutable_seen()->set_at_bytes(1'000'000);
  }
  few_words.mutable_seen()->set_output_ratio(0.1);
  many_words.mutable_seen()->set_output_ratio(0.5);
  history.Take(few_words);
  history.Take(many_words);
  EXPECT_DOUBLE_EQ(RateForKind(history, 0, 1), 1.5);
  EXPECT_DOUBLE_EQ(RateForKind(history, 0, 2), 3);
  // Where nothing but the look is known of other files, the last run counts.
  EXPECT_DOUBLE_EQ(RateForKind(history, 0, 3), 3);
}

TEST(ShapeHistoryTest, ARunOfItsKindOfAnotherSizeComesBeforeOneOfAnotherKindOfItsOwn) {
  ShapeHistory history;
  history.Take(RunOn(0, 1, 1.5, 2 * kBytes));
  history.Take(RunOn(1, 2, 3));
  EXPECT_DOUBLE_EQ(RateForKind(history, 0), 1.5);
  history.Take(RunOn(0, 3, 1.25));
  EXPECT_DOUBLE_EQ(RateForKind(history, 0), 1.25);
  EXPECT_DOUBLE_EQ(RateForKind(history, 0, kNewFiles, 3 * kBytes), 1.5);
  EXPECT_EQ(RateForKind(history, 0, kNewFiles, 20 * kBytes), 0);
}

TEST(ShapeHistoryTest, AllThatAreSimilarComeInTheOrderInWhichTheyAreAsked) {
  ShapeHistory history;
  history.Take(RunOn(1, 1, 1));              // of another kind, not the last of its size
  history.Take(RunOn(0, 2, 2, 2 * kBytes));  // of this kind, but not as near in size
  history.Take(RunOn(2, 3, 3));
  history.Take(RunOn(3, 4, 4, 20 * kBytes));  // too large
  history.Take(RunOn(0, 5, 5));
  history.Take(RunOn(4, 6, 6));
  std::vector<double> rates;
  const Look look = LookOf(0);
  for (const v1::JobShapeLearned* one : history.FindAll(WordCount(), {kBytes, 2, &look}, 2)) {
    rates.push_back(std::round(one->map_seconds_per_byte() / kJobSecondsPerByte));
  }
  EXPECT_EQ(rates, (std::vector<double>{2, 5, 6, 3, 1}));
  EXPECT_TRUE(history.FindAll(WordCount(), {kBytes, 2, &look}, 3).empty());
}

TEST(ShapeHistoryTest, RecordsWithoutALookCountAsBefore) {
  ShapeHistory history;
  history.Take(RunOfFiles(0, 1.25));  // older than fingerprints
  history.Take(RunOfFiles(0, 1.5));
  EXPECT_DOUBLE_EQ(RateForKind(history, 0), 1.5);
  EXPECT_DOUBLE_EQ(RateFor(history, {kBytes}), 1.5);
  // Where nothing tells, the last run counts; it says of what looks unlike it that it does not.
  history.Take(RunOn(1, 2, 3));
  EXPECT_DOUBLE_EQ(RateFor(history, {kBytes}), 3);
  EXPECT_DOUBLE_EQ(RateForKind(history, 1), 3);
  EXPECT_EQ(RateForKind(history, 0), 0);
  // What is packed is known by its files.
  history.Take(RunOfFiles(7, 0.5));
  history.Take(RunOfFiles(8, 0.75));
  EXPECT_DOUBLE_EQ(RateFor(history, {kBytes, 7}), 0.5);
  EXPECT_DOUBLE_EQ(RateFor(history, {kBytes, 9}), 0.75);
  // Files of a record from before there were looks are the same, now that they are looked at.
  history.Take(RunOn(2, 7, 2));
  EXPECT_DOUBLE_EQ(RateForKind(history, 2, 7), 2);
  EXPECT_DOUBLE_EQ(RateFor(history, {kBytes, 7}), 2);
}

TEST(ShapeHistoryTest, OfDataAJobKeepsSoManyKindsAndTheLastHeardOf) {
  ShapeHistory history;
  for (int kind = 0; kind < kMost; ++kind) history.Take(RunOn(kind, kind + 1, 1 + kind / 10.0));
  history.Take(RunOn(0, 1, 2));
  history.Take(RunOn(kMost, kMost + 1, 3));
  EXPECT_DOUBLE_EQ(RateForKind(history, 0), 2);
  EXPECT_EQ(RateForKind(history, 1), 0);
  for (int kind = 2; kind < kMost; ++kind)
    EXPECT_DOUBLE_EQ(RateForKind(history, kind), 1 + kind / 10.0);
  EXPECT_DOUBLE_EQ(RateForKind(history, kMost), 3);
}

TEST(ShapeHistoryTest, OfAllJobsTheOnesHeardOfLongestAgoGoFirst) {
  ShapeHistory history;
  const auto job = [](std::size_t i) { return "job" + std::to_string(i / 2); };
  for (std::size_t i = 0; i < ShapeHistory::kKindsMax + 3; ++i) {
    v1::JobShapeLearned shape = RunOn(static_cast<int>(i % 2), static_cast<int>(i) + 1, 1);
    shape.set_job(job(i));
    history.Take(shape);
  }
  const auto knows = [&](std::size_t i) {
    v1::JobSpec spec;
    spec.set_job(job(i));
    const Look look = LookOf(static_cast<int>(i % 2));
    const v1::JobShapeLearned* found = history.Find(spec, {kBytes, 0, &look}, 2);
    return found != nullptr && LooksAlike(found->look(), look);
  };
  EXPECT_FALSE(knows(0));
  EXPECT_FALSE(knows(1));
  EXPECT_FALSE(knows(2));
  EXPECT_TRUE(knows(3));
  EXPECT_TRUE(knows(ShapeHistory::kKindsMax + 2));
}

TEST(ShapeHistoryTest, AllAreTheLastOfEachKindTheOldestFirst) {
  ShapeHistory history;
  EXPECT_TRUE(history.All().empty());
  history.Take(RunOn(0, 1, 1));
  history.Take(RunOn(1, 2, 2));
  history.Take(RunOn(0, 3, 3, 2 * kBytes));
  history.Take(RunOn(0, 4, 4));  // in place of the first
  std::vector<double> rates;
  ShapeHistory again;
  for (const v1::JobShapeLearned* one : history.All()) {
    rates.push_back(std::round(one->map_seconds_per_byte() / kJobSecondsPerByte));
    again.Take(*one);
  }
  EXPECT_EQ(rates, (std::vector<double>{2, 3, 4}));
  for (const int kind : {0, 1}) {
    EXPECT_EQ(RateForKind(again, kind), RateForKind(history, kind));
    EXPECT_GT(RateForKind(again, kind), 0);
  }
}

/// Runs on some of the kinds in any order, as many of one as come.
std::vector<int> AnyKinds(int num_kinds) {
  return *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, num_kinds)));
}

RC_GTEST_PROP(ShapeHistoryPropertyTest, AKindGoesByItsLastRunWhateverCameBetween, ()) {
  const std::vector<int> runs = AnyKinds(kMost);
  ShapeHistory history;
  std::vector<double> last(static_cast<std::size_t>(kMost) + 1, 0);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const double rate = 1 + static_cast<double>(run % 100) / 50;  // none is beyond kRatesTell
    last[static_cast<std::size_t>(runs[run])] = rate;
    const int files = 1 + 1'000 * runs[run] + *rc::gen::inRange(0, 1'000);
    history.Take(RunOn(runs[run], files, rate));
  }
  // The last kind had no run, and is like none.
  for (int kind = 0; kind <= kMost; ++kind) {
    const double expected = last[static_cast<std::size_t>(kind)];
    RC_ASSERT(std::abs(RateForKind(history, kind) - expected) < 1e-9);
  }
}

RC_GTEST_PROP(ShapeHistoryPropertyTest, TheOrderOfRunsOfDifferentKindsDoesNotMatter, ()) {
  std::vector<int> order;
  for (int kind = 0; kind < kMost; ++kind) order.push_back(kind);
  ShapeHistory rising;
  for (const int kind : order) rising.Take(RunOn(kind, 1 + kind, 1 + kind / 10.0));
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[*rc::gen::inRange<std::size_t>(0, left)]);
  }
  ShapeHistory mixed;
  for (const int kind : order) mixed.Take(RunOn(kind, 1 + kind, 1 + kind / 10.0));
  for (int kind = 0; kind <= kMost; ++kind) {
    RC_ASSERT(RateForKind(mixed, kind) == RateForKind(rising, kind));
  }
}

RC_GTEST_PROP(ShapeHistoryPropertyTest, KeepsTheLastKindsOfMore, ()) {
  const std::vector<int> runs = AnyKinds(kAllKinds);
  ShapeHistory history;
  std::vector<int> recent;  // the last heard of at the end
  for (const int kind : runs) {
    recent.erase(std::remove(recent.begin(), recent.end(), kind), recent.end());
    recent.push_back(kind);
    if (recent.size() > ShapeHistory::kDataKindsMax) recent.erase(recent.begin());
    history.Take(RunOn(kind, 1 + kind, 1.5));
  }
  for (int kind = 0; kind < kAllKinds; ++kind) {
    const bool kept = std::find(recent.begin(), recent.end(), kind) != recent.end();
    RC_ASSERT((RateForKind(history, kind) > 0) == kept);
  }
}

}  // namespace
}  // namespace weir::master
