#include "runtime/worker/supervise/task_liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace weir::worker {
namespace {

using testing::HasSubstr;

constexpr LivenessBounds kBounds = {
    .silence = absl::Seconds(8), .stall = absl::Minutes(10), .loop_cpu = absl::Minutes(30)};

class TaskLivenessTest : public testing::Test {
 protected:
  // Looks for `time` at what `sign` says of each look, and stops when the task is hung.
  bool Hangs(absl::Duration time, const std::function<void(TaskSign&)>& sign) {
    for (const MonoTime end = now_ + time; now_ < end;) {
      now_ = now_ + kBounds.look();
      sign_.io_under_way = false;
      sign(sign_);
      hung_ = liveness_.Look(sign_, now_);
      if (hung_) return true;
    }
    return false;
  }

  // What one thread does between two looks.
  void Thread(TaskSign& sign, absl::Duration cpu, bool runnable = false, bool in_io = false) {
    cpu_ += cpu;
    sign.threads = {{.id = 7, .cpu = cpu_, .runnable = runnable, .in_io = in_io}};
  }

  absl::Duration Lasted() const { return now_ - MonoTime(); }

  MonoTime now_;
  absl::Duration cpu_ = absl::Seconds(1000);  // of steps before
  TaskSign sign_;
  TaskLiveness liveness_{kBounds, now_};
  std::optional<HungTask> hung_;
};

TEST_F(TaskLivenessTest, SleepsOrWaitsForItself) {
  EXPECT_TRUE(Hangs(absl::Hours(1), [&](TaskSign& sign) { Thread(sign, absl::ZeroDuration()); }));
  EXPECT_EQ(Lasted(), kBounds.silence);
  EXPECT_THAT(hung_->what, HasSubstr("neither read, wrote nor computed for 8s after 0 input"));
}

TEST_F(TaskLivenessTest, StoppedProcessShowsNoThreads) {
  EXPECT_FALSE(Hangs(absl::Minutes(1), [&](TaskSign& sign) { sign.input_bytes += 1; }));
  EXPECT_TRUE(Hangs(absl::Seconds(9), [](TaskSign&) {}));
  EXPECT_THAT(hung_->what, HasSubstr("after 30 input bytes"));
}

TEST_F(TaskLivenessTest, BytesInOrOutAreProgress) {
  EXPECT_FALSE(Hangs(absl::Hours(2), [](TaskSign& sign) { sign.input_bytes += 1; }));
  EXPECT_FALSE(Hangs(absl::Hours(2), [](TaskSign& sign) { sign.output_bytes += 1; }));
}

TEST_F(TaskLivenessTest, LongSortIsLife) {
  EXPECT_FALSE(Hangs(absl::Minutes(29),
                     [&](TaskSign& sign) { Thread(sign, kBounds.look(), /*runnable=*/true); }));
}

TEST_F(TaskLivenessTest, LongSortUnderASmallQuotaIsLife) {
  // Three percent of a processor: runnable whenever one looks.
  EXPECT_FALSE(Hangs(absl::Hours(12), [&](TaskSign& sign) {
    Thread(sign, 0.03 * kBounds.look(), /*runnable=*/true);
  }));
}

TEST_F(TaskLivenessTest, AProcessorThatIsNotGivenIsNoHang) {
  EXPECT_FALSE(Hangs(absl::Hours(12), [&](TaskSign& sign) {
    Thread(sign, absl::ZeroDuration(), /*runnable=*/true);
  }));
}

TEST_F(TaskLivenessTest, SlowWriteOrSyncIsLife) {
  EXPECT_FALSE(Hangs(absl::Minutes(9), [&](TaskSign& sign) {
    Thread(sign, absl::ZeroDuration(), /*runnable=*/false, /*in_io=*/true);
  }));
  sign_.output_bytes = 1;
  EXPECT_FALSE(Hangs(absl::Minutes(9), [](TaskSign& sign) {
    sign.threads.clear();
    sign.io_under_way = true;
  }));
}

TEST_F(TaskLivenessTest, ADiskThatIsGoneEndsTheStep) {
  EXPECT_TRUE(Hangs(absl::Hours(1), [&](TaskSign& sign) {
    Thread(sign, absl::ZeroDuration(), /*runnable=*/false, /*in_io=*/true);
  }));
  EXPECT_EQ(Lasted(), kBounds.stall);
  EXPECT_THAT(hung_->what, HasSubstr("hardly computed, for 10m"));
  EXPECT_THAT(hung_->advice, HasSubstr("file systems"));
}

TEST_F(TaskLivenessTest, CodeThatAsksAgainAndAgainEnds) {
  // One percent of a processor, asleep when one looks but for one time in ten.
  int looks = 0;
  EXPECT_TRUE(Hangs(absl::Hours(1), [&](TaskSign& sign) {
    Thread(sign, 0.01 * kBounds.look(), /*runnable=*/++looks % 10 == 0);
  }));
  EXPECT_EQ(Lasted(), kBounds.stall);
}

TEST_F(TaskLivenessTest, AnEndlessLoopEndsByItsProcessorTime) {
  EXPECT_TRUE(Hangs(absl::Hours(10), [&](TaskSign& sign) {
    Thread(sign, 0.5 * kBounds.look(), /*runnable=*/true);
  }));
  EXPECT_GE(Lasted(), 2 * kBounds.loop_cpu);
  EXPECT_LE(Lasted(), 2 * kBounds.loop_cpu + 2 * kBounds.look());
  EXPECT_THAT(hung_->what, HasSubstr("used a processor for 30m without reading or writing"));
  EXPECT_THAT(hung_->advice, HasSubstr("endless loop"));
}

TEST_F(TaskLivenessTest, ManyThreadsMayTogetherUseMore) {
  EXPECT_FALSE(Hangs(absl::Minutes(29), [&](TaskSign& sign) {
    cpu_ += kBounds.look();
    sign.threads.clear();
    for (int id = 1; id <= 64; ++id) sign.threads.push_back({.id = id, .cpu = cpu_});
  }));
}

TEST_F(TaskLivenessTest, ProgressBeginsAnew) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(Hangs(absl::Minutes(29),
                       [&](TaskSign& sign) { Thread(sign, kBounds.look(), /*runnable=*/true); }));
    ++sign_.input_bytes;
  }
}

TEST_F(TaskLivenessTest, ANewProcessCountsWithAllItHasUsed) {
  // As a job that runs a program for each record.
  int id = 100;
  EXPECT_FALSE(Hangs(absl::Hours(1), [&](TaskSign& sign) {
    sign.threads = {{.id = ++id, .cpu = absl::Seconds(1)}};
  }));
}

TEST_F(TaskLivenessTest, TimeInWhichNobodyLookedDoesNotCount) {
  now_ = now_ + absl::Seconds(6);
  ASSERT_FALSE(Hangs(kBounds.look(), [](TaskSign&) {}));
  // The daemon and its task are stopped for an hour.
  now_ = now_ + absl::Hours(1);
  EXPECT_FALSE(Hangs(kBounds.look(), [](TaskSign&) {}));
  EXPECT_TRUE(Hangs(absl::Minutes(1), [](TaskSign&) {}));
}

}  // namespace
}  // namespace weir::worker
