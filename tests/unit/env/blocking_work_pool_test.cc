#include "runtime/env/real/blocking_work_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/env/real/kernel_sources.h"

namespace weir::env {
namespace {

TEST(BlockingWorkPool, FinishesWhatWasQueuedBeforeClose) {
  BlockingWorkPool pool;
  std::atomic<int> ran = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { pool.Serve(); });
  // More than the queue holds: Run waits for room instead of growing it.
  constexpr int kTasks = 5000;
  for (int i = 0; i < kTasks; ++i) pool.Run([&] { ++ran; });
  pool.Close();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ran, kTasks);
  pool.Run([&] { ++ran; });
  pool.Serve();
  EXPECT_EQ(ran, kTasks);
}

TEST(BlockingWorkPool, WorkMayQueueMoreWorkWithoutWaitingForItself) {
  BlockingWorkPool pool;
  int ran = 0;
  pool.Run([&] {
    for (std::size_t i = 0; i < BlockingWorkPool::kQueuedMax + 10; ++i) pool.Run([&] { ++ran; });
    pool.Run([&] { pool.Close(); });
  });
  pool.Serve();
  EXPECT_EQ(ran, static_cast<int>(BlockingWorkPool::kQueuedMax) + 10);
}

TEST(KernelSources, DrawDifferentNumbersAndReadAPlausibleClock) {
  KernelRandom random;
  EXPECT_NE(random.Next(), random.Next());
  const KernelWallClock clock;
  EXPECT_GT(clock.UnixMillis(), 1'600'000'000'000);
}

}  // namespace
}  // namespace weir::env
