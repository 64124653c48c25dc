#include "runtime/env/real/asio_event_loop.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "runtime/base/fd.h"

namespace weir::env {
namespace {

TEST(AsioEventLoop, RunsPostedTasksInOrderAndNeverAtOnce) {
  AsioEventLoop loop;
  std::string order;
  loop.Post([&] {
    EXPECT_TRUE(loop.IsCurrent());
    loop.Post([&] { order += "c"; });
    order += "a";
  });
  loop.Post([&] { order += "b"; });
  EXPECT_EQ(order, "");
  EXPECT_FALSE(loop.IsCurrent());
  loop.RunUntil([&] { return order.size() == 3; });
  EXPECT_EQ(order, "abc");
}

TEST(AsioEventLoop, TimersRunInOrderOfTimeThenOfAsking) {
  AsioEventLoop loop;
  std::string order;
  loop.Post([&] {
    const MonoTime now = loop.Now();
    const MonoTime soon = now + absl::Milliseconds(5);
    loop.RunAt(soon, [&] { order += "b"; });
    const auto dropped = loop.RunAt(now, [&] { order += "x"; });
    loop.RunAt(soon, [&] { order += "c"; });
    loop.RunAt(now + absl::Milliseconds(1), [&] { order += "a"; });
    loop.CancelTimer(dropped);
    loop.CancelTimer(dropped);
    loop.RunAt(now + absl::Milliseconds(10), [&] { loop.Stop(); });
  });
  loop.Run();
  EXPECT_EQ(order, "abc");
}

TEST(AsioEventLoop, NothingIsLateByTimeThatIsSkipped) {
  AsioEventLoop loop;
  bool ran = false;
  loop.Post([&] {
    const MonoTime now = loop.Now();
    const MonoTime when = now + absl::Milliseconds(30);
    loop.RunAt(when, [&, when] {
      EXPECT_GE(loop.Now(), when);
      ran = true;
    });
    usleep(40'000);
    loop.SkipTime(loop.Now() - now);
    EXPECT_LT(loop.Now(), when) << "the clock went on";
  });
  loop.RunUntil([&] { return ran; });
}

TEST(AsioEventLoop, TasksPostedByOtherThreadsAllRun) {
  AsioEventLoop loop;
  int ran = 0;
  constexpr int kTasks = 1000;
  std::thread first([&] {
    for (int i = 0; i < kTasks; ++i) loop.Post([&] { ++ran; });
  });
  std::thread second([&] {
    for (int i = 0; i < kTasks; ++i) loop.Post([&] { ++ran; });
  });
  loop.RunUntil([&] { return ran == 2 * kTasks; });
  first.join();
  second.join();
}

TEST(AsioEventLoop, WatchWakesOnDataAndAfterDestructionStaysSilent) {
  AsioEventLoop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Fd read_end(ends[0]), write_end(ends[1]);
  int wakes = 0;
  auto watch = loop.Watch(read_end.get());
  ASSERT_TRUE(watch.ok()) << watch.status();
  (*watch)->OnceReadable([&] { ADD_FAILURE() << "replaced"; });
  (*watch)->OnceReadable([&] { ++wakes; });
  ASSERT_EQ(write(write_end.get(), "x", 1), 1);
  loop.RunUntil([&] { return wakes == 1; });
  // Level, not edge: what is still unread wakes the next wait as well.
  (*watch)->OnceReadable([&] { ++wakes; });
  loop.RunUntil([&] { return wakes == 2; });
  (*watch)->OnceReadable([&] { ADD_FAILURE() << "destroyed"; });
  watch->reset();
  bool done = false;
  loop.Post([&] { loop.RunAt(loop.Now() + absl::Milliseconds(5), [&] { done = true; }); });
  loop.RunUntil([&] { return done; });
  // The descriptor is still ours and can be watched again; its end shows as readable.
  write_end.Reset();
  auto again = loop.Watch(read_end.get());
  ASSERT_TRUE(again.ok()) << again.status();
  bool ended = false;
  (*again)->OnceReadable([&] { ended = true; });
  loop.RunUntil([&] { return ended; });
}

TEST(AsioEventLoop, SignalsArriveAsTasks) {
  AsioEventLoop loop;
  int seen = 0;
  ASSERT_TRUE(loop.OnSignals({SIGUSR1},
                             [&](int number) {
                               EXPECT_EQ(number, SIGUSR1);
                               ++seen;
                             })
                  .ok());
  raise(SIGUSR1);
  loop.RunUntil([&] { return seen == 1; });
  raise(SIGUSR1);
  loop.RunUntil([&] { return seen == 2; });
  EXPECT_FALSE(loop.OnSignals({SIGKILL}, [](int) {}).ok());
}

TEST(AsioEventLoopStop, BeforeRunIsNotLost) {
  AsioEventLoop loop;
  loop.Stop();
  loop.Run();  // returns at once
  int ran = 0;
  loop.Post([&] {
    ++ran;
    loop.Stop();
  });
  loop.Run();
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace weir::env
