#include "runtime/task/slot_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "tests/unit/task/task_threads.h"

namespace weir::task {
namespace {

TEST(SlotThreadsTest, RunsEachSlotOncePerRound) {
  TestEnvironment environment;
  SlotThreads slots(4, environment.environment());
  EXPECT_EQ(slots.num_slots(), 4);
  std::vector<std::atomic<int>> calls(4);
  for (int round = 1; round <= 100; ++round) {
    slots.RunOnAll([&calls](int slot) { ++calls[static_cast<std::size_t>(slot)]; });
    for (const std::atomic<int>& count : calls) ASSERT_EQ(count, round);
  }
}

TEST(SlotThreadsTest, OneSlotNeedsNoThread) {
  SlotThreads slots(1, TaskEnvironment{});
  int calls = 0;
  slots.RunOnAll([&calls](int slot) { calls += slot + 1; });
  EXPECT_EQ(calls, 1);
}

TEST(SlotThreadsTest, WithoutAThreadForEachSlotTheOthersEnd) {
  TestEnvironment environment(2);  // joins them
  EXPECT_THROW(SlotThreads(4, environment.environment()), std::system_error);
}

TEST(SlotThreadsTest, ThrowsOnWhatABodyThrewOnceAllAreDone) {
  TestEnvironment environment;
  SlotThreads slots(3, environment.environment());
  std::atomic<int> done = 0;
  const auto body = [&done](int slot) {
    if (slot == 2) throw std::runtime_error("slot 2");
    ++done;
  };
  EXPECT_THROW(slots.RunOnAll(body), std::runtime_error);
  EXPECT_EQ(done, 2);
  slots.RunOnAll([&done](int) { ++done; });
  EXPECT_EQ(done, 5);
}

}  // namespace
}  // namespace weir::task
