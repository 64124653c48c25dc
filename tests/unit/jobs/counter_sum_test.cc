// Counters stay at what they hold at most, wherever a job counts.

#include "jobs/api/counter_sum.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/status/status.h"
#include "jobs/engine/emit_base.h"
#include "jobs/testing/in_process_job.h"
#include "jobs/testing/memory_steps.h"

namespace weir {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

struct Job {
  static constexpr std::array<std::string_view, 2> kCounters = {"up", "down"};
};

TEST(CounterSum, StaysAtTheMostAndTheLeast) {
  std::int64_t counter = kMost - 1;
  AddToCounter(counter, 1);
  EXPECT_EQ(counter, kMost);
  AddToCounter(counter, 1);
  EXPECT_EQ(counter, kMost);
  AddToCounter(counter, kMost);
  EXPECT_EQ(counter, kMost);
  AddToCounter(counter, -3);
  EXPECT_EQ(counter, kMost - 3);
  counter = kLeast;
  AddToCounter(counter, -1);
  EXPECT_EQ(counter, kLeast);
  AddToCounter(counter, kMost);
  EXPECT_EQ(counter, -1);
}

TEST(CounterSum, IsThatOfWhatRecordsCount) {
  EmitBase<Job> emit;
  emit.Increment(0, kMost);
  emit.Increment(0);
  emit.Increment(1, kLeast);
  emit.Increment(1, -1);
  EXPECT_EQ(emit.counters()[0], kMost);
  EXPECT_EQ(emit.counters()[1], kLeast);
}

TEST(CounterSum, IsThatOfTheTestsOfAuthors) {
  testing::JobLog log;
  for (int step = 0; step < 2; ++step) {
    const absl::Status ran = testing::RunStep(1, log, [](testing::RecordingContext& context) {
      for (int block = 0; block < 2; ++block) context.AddCounter("up", kMost);
      return absl::OkStatus();
    });
    EXPECT_TRUE(ran.ok()) << ran;
  }
  EXPECT_EQ(log.counters["up"], kMost);
}

}  // namespace
}  // namespace weir
