// A worker whose work directory hangs, as those of a network that is gone do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/env/real/blocking_work_pool.h"
#include "tests/unit/worker/worker_daemon_fixture.h"

namespace weir::worker {
namespace {

using testing::HasSubstr;

// Does not say how much room there is while it hangs.
class HangingStorage final : public env::PosixStorage {
 public:
  absl::StatusOr<std::int64_t> FreeBytes(const std::string& path) override {
    {
      std::unique_lock lock(mutex_);
      asked_ = true;
      answers_.wait(lock, [this] { return !hangs_; });
    }
    return PosixStorage::FreeBytes(path);
  }
  void SetHangs(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
    asked_ = false;
    answers_.notify_all();
  }
  // Since SetHangs.
  bool asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable answers_;
  bool hangs_ = false;  // guarded by mutex_
  bool asked_ = false;  // guarded by mutex_
};

class WorkerDaemonHangingTest : public WorkerDaemonTest {
 protected:
  WorkerDaemonHangingTest() {
    disk_ = &hanging_;
    disk_pool_ = &disk_thread_;
    // What a test says of the time is longer than a usual lease.
    master_.lease_ms = 600'000;
  }
  ~WorkerDaemonHangingTest() override {
    hanging_.SetHangs(false);
    disk_thread_.Close();
    look_thread_.Close();
    serving_.join();
    looking_.join();
  }

  // Lets it hang for longer than a directory may, and then answer.
  void ExpectThatItLeavesUntilItAnswers() {
    loop_.SkipTime(-absl::Seconds(11));
    EXPECT_TRUE(Until([&] { return !daemon_->registered(); }));
    EXPECT_THAT(master_.heartbeats.back().leaving(), HasSubstr("has not answered for 10s"));
    hanging_.SetHangs(false);
    EXPECT_TRUE(Until([&] { return daemon_->registered(); }));
    Stop();
  }

  HangingStorage hanging_;
  env::BlockingWorkPool disk_thread_;
  env::BlockingWorkPool look_thread_;
  std::thread serving_{[this] { disk_thread_.Serve(); }};
  std::thread looking_{[this] { look_thread_.Serve(); }};
};

TEST_F(WorkerDaemonHangingTest, LeavesWhileItsDirectoryDoesNotAnswer) {
  StartRegistered("good");
  hanging_.SetHangs(true);
  ASSERT_TRUE(Until([&] { return hanging_.asked(); }));
  const std::size_t heartbeats = master_.heartbeats.size();
  ASSERT_TRUE(Until([&] { return master_.heartbeats.size() > heartbeats + 3; }));
  EXPECT_TRUE(daemon_->registered()) << "a slow one is given time";
  EXPECT_EQ(master_.heartbeats.back().leaving(), "");

  loop_.SkipTime(-absl::Seconds(11));
  ASSERT_TRUE(Until([&] { return !daemon_->registered(); }));
  EXPECT_THAT(master_.heartbeats.back().leaving(), HasSubstr(work_dir_.path()));
  EXPECT_THAT(master_.heartbeats.back().leaving(), HasSubstr("has not answered for 10s"));

  const std::size_t registrations = master_.registrations.size();
  EXPECT_FALSE(RunUntil(
      loop_, [this] { return daemon_->registered(); }, absl::Milliseconds(300)));
  hanging_.SetHangs(false);
  EXPECT_TRUE(Until([&] { return daemon_->registered(); }));
  EXPECT_EQ(master_.registrations.size(), registrations + 1) << "none while it hung";
  EXPECT_TRUE(Prepare().ok());
}

// All threads of the disk's pool hang, as where a removal and a rename wait for the same disk.
TEST_F(WorkerDaemonHangingTest, LeavesThoughNothingOfItsPoolIsDone) {
  look_pool_ = &look_thread_;
  StartRegistered("good");
  hanging_.SetHangs(true);
  disk_thread_.Run([this] { static_cast<void>(hanging_.FreeBytes(work_dir_.path())); });
  ASSERT_TRUE(Until([&] { return hanging_.asked(); }));
  const std::size_t heartbeats = master_.heartbeats.size();
  ASSERT_TRUE(Until([&] { return master_.heartbeats.size() > heartbeats + 3; }));
  ExpectThatItLeavesUntilItAnswers();
}

// As those of one process have one thread for their looks.
TEST_F(WorkerDaemonHangingTest, LeavesWhileTheLookOfAnotherWorkerHangs) {
  look_pool_ = &look_thread_;
  constexpr std::int64_t kSeldomMs = 150;
  master_.heartbeat_ms = kSeldomMs;
  StartRegistered("good");
  // The other one's comes first.
  hanging_.SetHangs(true);
  look_thread_.Run([this] { static_cast<void>(hanging_.FreeBytes(work_dir_.path())); });
  ASSERT_TRUE(Until([&] { return hanging_.asked(); }));
  const std::size_t heartbeats = master_.heartbeats.size();
  ASSERT_TRUE(Until([&] { return master_.heartbeats.size() > heartbeats + 2; }));
  EXPECT_TRUE(daemon_->registered()) << "a slow one is given time";
  ExpectThatItLeavesUntilItAnswers();
}

}  // namespace
}  // namespace weir::worker
