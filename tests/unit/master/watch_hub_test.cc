#include "runtime/master/job/watch_hub.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sim/virtual_time.h"

namespace weir::master {
namespace {

v1::JobStatus Status(v1::JobState state, std::int64_t sequence) {
  v1::JobStatus status;
  status.set_job_id("j-1");
  status.set_state(state);
  status.set_sequence(sequence);
  return status;
}

class WatchHubTest : public ::testing::Test {
 protected:
  std::unique_ptr<rpc::Subscription> Watch(const v1::JobStatus& now) {
    return hub_.Watch(
        now, [this](const v1::JobStatus& status) { seen_.push_back(status.sequence()); },
        [this](const absl::Status& status) { ends_.push_back(status); });
  }
  void Drain() {
    while (time_.RunNext()) {
    }
  }
  using Seen = std::vector<std::int64_t>;

  sim::VirtualTime time_;
  std::shared_ptr<sim::ProcessLoop> loop_ = std::make_shared<sim::ProcessLoop>(time_);
  WatchHub hub_{*loop_};
  Seen seen_;
  std::vector<absl::Status> ends_;
};

TEST_F(WatchHubTest, SendsTheStateNowThenChangesThenTheEnd) {
  const auto subscription = Watch(Status(v1::JOB_STATE_QUEUED, 1));
  EXPECT_TRUE(seen_.empty()) << "never inside the caller's turn";
  Drain();
  EXPECT_EQ(seen_, Seen{1});
  hub_.Publish(Status(v1::JOB_STATE_RUNNING, 2));
  hub_.Publish(Status(v1::JOB_STATE_SUCCEEDED, 3));
  Drain();
  EXPECT_EQ(seen_, (Seen{1, 2, 3}));
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_TRUE(ends_[0].ok());
}

TEST_F(WatchHubTest, OnlyTheFirstAndTheLastStateHoldTheListOfInputs) {
  constexpr int kInputs = 10'000;
  const auto with_inputs = [](v1::JobState state, std::int64_t sequence) {
    v1::JobStatus status = Status(state, sequence);
    status.mutable_spec()->set_job("wordcount");
    for (int i = 0; i < kInputs; ++i) status.mutable_spec()->add_inputs("/data/part");
    return status;
  };
  std::vector<int> inputs;
  std::vector<std::size_t> bytes;
  const auto subscription = hub_.Watch(
      with_inputs(v1::JOB_STATE_QUEUED, 1),
      [&](const v1::JobStatus& status) {
        EXPECT_EQ(status.spec().job(), "wordcount");
        inputs.push_back(status.spec().inputs_size());
        bytes.push_back(status.ByteSizeLong());
      },
      [](const absl::Status&) {});
  hub_.Publish(with_inputs(v1::JOB_STATE_RUNNING, 2));
  hub_.Publish(with_inputs(v1::JOB_STATE_RUNNING, 3));
  hub_.Publish(with_inputs(v1::JOB_STATE_SUCCEEDED, 4));
  Drain();
  EXPECT_EQ(inputs, (std::vector<int>{kInputs, 0, 0, kInputs}));
  ASSERT_EQ(bytes.size(), 4u);
  EXPECT_LT(bytes[1], 1000u) << "whatever the number of inputs";
}

TEST_F(WatchHubTest, EndedJobIsToldAndOver) {
  const auto subscription = Watch(Status(v1::JOB_STATE_FAILED, 9));
  Drain();
  EXPECT_EQ(seen_, Seen{9});
  EXPECT_EQ(ends_.size(), 1u);
}

TEST_F(WatchHubTest, SlowWatcherMissesTheMiddleNeverTheEnd) {
  const auto subscription = Watch(Status(v1::JOB_STATE_RUNNING, 0));
  for (int i = 1; i <= 100; ++i) hub_.Publish(Status(v1::JOB_STATE_RUNNING, i));
  hub_.Publish(Status(v1::JOB_STATE_SUCCEEDED, 101));
  Drain();
  EXPECT_EQ(seen_.size(), WatchHub::kQueuedMax);
  EXPECT_EQ(seen_.back(), 101);
  EXPECT_TRUE(std::is_sorted(seen_.begin(), seen_.end()));
  EXPECT_EQ(ends_.size(), 1u);
}

TEST_F(WatchHubTest, NothingComesAfterTheSubscriptionIsGone) {
  auto subscription = Watch(Status(v1::JOB_STATE_QUEUED, 1));
  subscription.reset();
  hub_.Publish(Status(v1::JOB_STATE_SUCCEEDED, 2));
  Drain();
  EXPECT_TRUE(seen_.empty());
  EXPECT_TRUE(ends_.empty());
}

TEST_F(WatchHubTest, MasterThatGoesAwayEndsTheStreams) {
  const auto subscription = Watch(Status(v1::JOB_STATE_RUNNING, 1));
  hub_.EndAll(absl::UnavailableError("going"));
  Drain();
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(ends_[0]));
}

TEST_F(WatchHubTest, NumberOfWatchersIsBounded) {
  std::vector<std::unique_ptr<rpc::Subscription>> all;
  for (int i = 0; i < WatchHub::kWatchersMax; ++i) {
    all.push_back(Watch(Status(v1::JOB_STATE_RUNNING, 1)));
  }
  const auto refused = Watch(Status(v1::JOB_STATE_RUNNING, 1));
  Drain();
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(ends_[0]));
  all.clear();
  const auto accepted = Watch(Status(v1::JOB_STATE_RUNNING, 1));
  Drain();
  EXPECT_EQ(ends_.size(), 1u);
}

}  // namespace
}  // namespace weir::master
