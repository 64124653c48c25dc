#include "runtime/master/input/input_lister.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "tests/sim/virtual_time.h"

namespace weir::master {
namespace {

/// One thread, which the test is: RunNext does what was given to it first.
class OneThread final : public env::WorkPool {
 public:
  void Run(env::Task work) override { waiting_.push_back(std::move(work)); }
  void RunNext() {
    env::Task work = std::move(waiting_.front());
    waiting_.pop_front();
    work();
  }

 private:
  std::deque<env::Task> waiting_;
};

class InputListerTest : public ::testing::Test {
 protected:
  void RunFor(absl::Duration duration) {
    bool over = false;
    time_.At(time_.now() + duration, nullptr, [&over] { over = true; });
    while (!over && time_.RunNext()) {
    }
  }
  /// Lists one file, after `meanwhile` passes at its path.
  void List(const std::string& path, absl::Duration meanwhile = absl::ZeroDuration()) {
    answers_.emplace_back();
    lister_->List(
        {absl::Seconds(50), absl::Minutes(10)},
        [this, path, meanwhile](PathLookedAt& looked_at) -> absl::StatusOr<InputList> {
          looked_at.Set(path);
          ++num_listed_;
          RunFor(meanwhile);
          InputList list;
          list.total_bytes = 7;
          return list;
        },
        [&answer = answers_.back()](absl::StatusOr<InputList> input) {
          EXPECT_FALSE(answer) << "answered twice";
          answer = std::move(input);
        });
  }

  sim::VirtualTime time_;
  std::shared_ptr<sim::ProcessLoop> loop_ = std::make_shared<sim::ProcessLoop>(time_);
  OneThread thread_;
  std::optional<InputLister> lister_{std::in_place, *loop_, thread_};
  std::deque<std::optional<absl::StatusOr<InputList>>> answers_;
  int num_listed_ = 0;
};

TEST_F(InputListerTest, AnswersWithWhatWasListedAndLeavesNoTimer) {
  List("/in/a");
  thread_.RunNext();
  EXPECT_FALSE(answers_[0]) << "on the loop, later";
  RunFor(absl::Milliseconds(1));
  ASSERT_TRUE(answers_[0] && answers_[0]->ok());
  EXPECT_EQ((*answers_[0])->total_bytes, 7);
  EXPECT_EQ(time_.events_waiting(), 0u);
}

TEST_F(InputListerTest, OneThatIsUnderWayIsWaitedForLonger) {
  List("/in/of-a-million-files", absl::Minutes(9));
  thread_.RunNext();
  EXPECT_FALSE(answers_[0]);
  RunFor(absl::Milliseconds(1));
  ASSERT_TRUE(answers_[0] && answers_[0]->ok());
  EXPECT_EQ(time_.events_waiting(), 0u);
}

TEST_F(InputListerTest, APathThatDoesNotAnswerIsNamedAndItsLateAnswerIsDropped) {
  List("/in/hung", absl::Minutes(11));
  thread_.RunNext();
  ASSERT_TRUE(answers_[0]);
  EXPECT_TRUE(absl::IsDeadlineExceeded(answers_[0]->status())) << answers_[0]->status();
  const v1::JobError error = JobErrorFromStatus(answers_[0]->status());
  EXPECT_EQ(error.code(), job_error::kDeadline);
  EXPECT_EQ(error.file(), "/in/hung");
  EXPECT_TRUE(absl::StrContains(error.message(), "10m: the master waits for /in/hung"))
      << error.message();
  RunFor(absl::Minutes(1));
  EXPECT_FALSE(answers_[0]->ok());
}

TEST_F(InputListerTest, OneThatWaitsBehindItNamesItAndNeverBegins) {
  List("/in/hung", absl::Minutes(3));
  List("/in/b");
  thread_.RunNext();
  ASSERT_TRUE(answers_[1]);
  EXPECT_TRUE(absl::IsResourceExhausted(answers_[1]->status())) << answers_[1]->status();
  EXPECT_EQ(JobErrorFromStatus(answers_[1]->status()).file(), "/in/hung");
  thread_.RunNext();
  RunFor(absl::Seconds(1));
  EXPECT_EQ(num_listed_, 1);
}

TEST_F(InputListerTest, TimeInWhichTheMasterStoodStillIsNoPathsSilence) {
  List("/in/a");
  List("/in/hung");
  loop_->Hang();
  RunFor(absl::Minutes(20));
  loop_->GoOn();
  RunFor(absl::Milliseconds(1));
  EXPECT_FALSE(answers_[0]) << "what was listed meanwhile is heard first";
  thread_.RunNext();
  RunFor(absl::Milliseconds(1));
  ASSERT_TRUE(answers_[0] && answers_[0]->ok());
  EXPECT_FALSE(answers_[1]);
  RunFor(absl::Seconds(50));
  ASSERT_TRUE(answers_[1]) << "as long as ever";
  EXPECT_TRUE(absl::IsResourceExhausted(answers_[1]->status())) << answers_[1]->status();
}

TEST_F(InputListerTest, HasRoomForSoManyAndForMoreOnceTheyAreThrough) {
  for (std::int64_t i = 0; i < limits::kListingsMax; ++i) {
    ASSERT_TRUE(lister_->Room().ok()) << i;
    List("/in/a");
  }
  EXPECT_TRUE(absl::IsResourceExhausted(lister_->Room()));
  RunFor(absl::Minutes(1));
  ASSERT_TRUE(answers_.back()) << "answered, but still in the pool's queue";
  EXPECT_TRUE(absl::IsResourceExhausted(lister_->Room()));
  thread_.RunNext();
  RunFor(absl::Milliseconds(1));
  EXPECT_TRUE(lister_->Room().ok());
}

TEST_F(InputListerTest, NobodyIsAnsweredOnceItIsGone) {
  List("/in/a");
  List("/in/b");
  thread_.RunNext();
  lister_.reset();
  thread_.RunNext();
  RunFor(absl::Minutes(2));
  EXPECT_FALSE(answers_[0]);
  EXPECT_FALSE(answers_[1]);
  EXPECT_EQ(num_listed_, 1) << "nor is anything begun for nobody";
}

}  // namespace
}  // namespace weir::master
