#include "runtime/master/job/job_queue.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace weir::master {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kStepMs = 600'000;

const WorkerRoom kUnknown{.num_workers = 2};
const WorkerRoom kLimited{.num_workers = 2, .memory_bytes = 8 * kGiB, .limited = true};
const WorkerRoom kNotLimited{.num_workers = 2, .memory_bytes = 8 * kGiB};

JobWish Small(std::int64_t at_ms = 0, std::int32_t priority = 0) {
  return {.priority = priority, .submitted_unix_ms = at_ms, .input_bytes = kMiB};
}
JobWish Large(std::int64_t at_ms = 0, std::int32_t priority = 0) {
  return {.priority = priority, .submitted_unix_ms = at_ms, .input_bytes = kGiB};
}

std::vector<std::string> TakeAll(JobQueue& queue, const WorkerRoom& room) {
  std::vector<std::string> begun;
  while (const auto next = queue.TakeNext(room)) begun.push_back(next->job);
  return begun;
}

using Jobs = std::vector<std::string>;

TEST(JobQueueTest, BeginsJobsByPriorityAndSubmission) {
  JobQueue queue(1);
  queue.Add("first", Large(10));
  queue.Add("second", Large(20));
  queue.Add("urgent", Large(30, 1));
  queue.Add("same moment", Large(30));
  EXPECT_EQ(queue.waiting(), (Jobs{"urgent", "first", "second", "same moment"}));
  EXPECT_EQ(queue.PlaceOf("second"), 3);
  EXPECT_EQ(queue.TakeNext(kUnknown)->job, "urgent");
  EXPECT_EQ(queue.PlaceOf("urgent"), 0);
  EXPECT_FALSE(queue.TakeNext(kUnknown)) << "one at a time";
  queue.Remove("urgent");
  EXPECT_TRUE(queue.IsNext("first", kUnknown));
  EXPECT_FALSE(queue.IsNext("second", kUnknown));
}

TEST(JobQueueTest, TenMinutesOfWaitingOutweighAStepOfPriority) {
  JobQueue queue(1);
  queue.Add("old", Large(0));
  queue.Add("soon after", Large(kStepMs - 1, 1));
  queue.Add("late", Large(kStepMs, 1));
  EXPECT_EQ(queue.waiting(), (Jobs{"soon after", "old", "late"}));
}

TEST(JobQueueTest, AClockThatJumpsBackChangesNoOrder) {
  JobQueue queue(1);
  queue.Add("first", Large(1'000'000));
  queue.Add("second", Large(5));
  EXPECT_EQ(queue.waiting(), (Jobs{"first", "second"}));
}

TEST(JobQueueTest, KeepsOnePlaceForSmallJobs) {
  JobQueue queue(3);
  for (int j = 0; j < 4; ++j) queue.Add("long " + std::to_string(j), Large());
  EXPECT_EQ(TakeAll(queue, kUnknown), (Jobs{"long 0", "long 1"}));
  queue.Add("small", Small(100));
  queue.Add("another", Small(100));
  EXPECT_EQ(TakeAll(queue, kUnknown), Jobs{"small"});
  queue.Remove("small");
  EXPECT_EQ(TakeAll(queue, kUnknown), Jobs{"another"});
  queue.Remove("long 0");
  EXPECT_EQ(TakeAll(queue, kUnknown), Jobs{"long 2"});
}

TEST(JobQueueTest, AJobAloneGetsTheMemoryButWhatIsKeptForSmallOnes) {
  JobQueue queue(4);
  EXPECT_DOUBLE_EQ(queue.ShareAlone(kLimited), 13.0 / 16);
  EXPECT_DOUBLE_EQ(queue.ShareAlone(kNotLimited), 1);
  queue.Add("large", Large());
  queue.Add("larger", {.input_bytes = 100 * kGiB});
  queue.Add("small", Small());
  const auto large = queue.TakeNext(kLimited);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->job, "large");
  EXPECT_DOUBLE_EQ(large->memory_share, 13.0 / 16);
  const auto small = queue.TakeNext(kLimited);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->job, "small") << "it does not wait for the long one";
  EXPECT_DOUBLE_EQ(small->memory_share, 1.0 / 16);
  EXPECT_FALSE(queue.TakeNext(kLimited)) << "its memory is taken";
  queue.Remove("large");
  EXPECT_DOUBLE_EQ(queue.TakeNext(kLimited)->memory_share, 13.0 / 16);
}

TEST(JobQueueTest, OneAtATimeEachGetsAll) {
  JobQueue queue(1);
  queue.Add("a", Large());
  EXPECT_EQ(queue.TakeNext(kLimited)->memory_share, 1);
}

TEST(JobQueueTest, WithoutALimitJobsRunBesideEachOtherWhileTheirMemoryIsThere) {
  JobQueue queue(4);
  // 8 GiB but 1.5 GiB that are kept; 1 GiB of input on two workers counts 2 GiB.
  for (int j = 0; j < 3; ++j) queue.Add("fits " + std::to_string(j), Large());
  queue.Add("too large", {.input_bytes = 100 * kGiB});
  queue.Add("behind it", Large());
  EXPECT_EQ(TakeAll(queue, kNotLimited), (Jobs{"fits 0", "fits 1", "fits 2"}));
  queue.Remove("fits 0");
  queue.Remove("fits 1");
  EXPECT_TRUE(TakeAll(queue, kNotLimited).empty()) << "nobody large goes before the one that waits";
  queue.Remove("fits 2");
  EXPECT_EQ(TakeAll(queue, kNotLimited), Jobs{"too large"}) << "alone, whatever it needs";
}

TEST(JobQueueTest, AJobOfUnknownSizeIsNotSmall) {
  JobQueue queue(2);
  queue.Add("a", {});
  queue.Add("b", {});
  EXPECT_EQ(TakeAll(queue, kNotLimited), Jobs{"a"});
}

TEST(JobQueueTest, SmallGoesUpToItsLimit) {
  for (const bool beyond : {false, true}) {
    JobQueue queue(2);
    queue.Add("long", Large());
    ASSERT_EQ(TakeAll(queue, kUnknown), Jobs{"long"});
    queue.Add("next", {.input_bytes = JobQueue::kSmallInputBytes + (beyond ? 1 : 0)});
    EXPECT_EQ(TakeAll(queue, kUnknown).size(), beyond ? 0u : 1u);
  }
}

TEST(JobQueueTest, ASmallJobFitsTheMemoryKeptThoughAllOfItMeetsOnOneWorker) {
  // A sixteenth of 2 GiB is kept. A task takes 16 MiB and four times its input.
  const WorkerRoom room{.num_workers = 8, .memory_bytes = 2 * kGiB};
  for (const bool beyond : {false, true}) {
    JobQueue queue(2);
    queue.Add("long", Large());
    ASSERT_EQ(TakeAll(queue, room), Jobs{"long"});
    queue.Add("next", {.input_bytes = 28 * kMiB + (beyond ? 1 : 0)});
    EXPECT_EQ(TakeAll(queue, room).size(), beyond ? 0u : 1u);
  }
}

TEST(JobQueueTest, OfMuchMemoryNoMoreIsKeptThanSmallJobsNeed) {
  const WorkerRoom room{.num_workers = 2, .memory_bytes = 16 * kGiB, .limited = true};
  EXPECT_EQ(JobQueue::MemoryKept(room), kGiB / 2);
  EXPECT_DOUBLE_EQ(JobQueue(4).ShareAlone(room), 14.5 / 16);
}

TEST(JobQueueTest, PrioritiesBeyondTheLimitsAreTheLimits) {
  JobQueue queue(1);
  queue.Add("first", Large(0, JobQueue::kPriorityMax));
  queue.Add("beyond the most", Large(0, JobQueue::kPriorityMax + 1));
  queue.Add("below the least", Large(0, JobQueue::kPriorityMin - 1));
  queue.Add("last", Large(0, JobQueue::kPriorityMin));
  EXPECT_EQ(queue.waiting(), (Jobs{"first", "beyond the most", "below the least", "last"}));
}

TEST(JobQueueTest, WhatAnEarlierMasterHadBegunGoesFirst) {
  JobQueue queue(1);
  queue.Add("first", {.submitted_unix_ms = 1, .resumed = true});
  queue.Add("second", {.submitted_unix_ms = 2, .resumed = true});
  queue.Add("urgent", Large(3, 100));
  EXPECT_EQ(queue.waiting(), (Jobs{"first", "second", "urgent"}));
}

TEST(JobQueueTest, KnowsWhoRanBesideWhom) {
  JobQueue queue(4);
  queue.Add("a", Small());
  queue.TakeNext(kUnknown);
  EXPECT_TRUE(queue.RanAlone("a"));
  EXPECT_TRUE(queue.Beside("a").empty());
  queue.Add("b", Small());
  queue.TakeNext(kUnknown);
  EXPECT_EQ(queue.Beside("a"), Jobs{"b"});
  queue.Remove("b");
  EXPECT_FALSE(queue.RanAlone("a")) << "for a while it did not";
  EXPECT_TRUE(queue.Beside("a").empty());
  EXPECT_FALSE(queue.RanAlone("b"));
  EXPECT_FALSE(queue.idle());
  queue.Remove("a");
  EXPECT_TRUE(queue.idle());
}

}  // namespace
}  // namespace weir::master
