#include "runtime/worker/report_sender.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/worker/manual_loop.h"

namespace weir::worker {
namespace {

class ReportSenderTest : public testing::Test {
 protected:
  // Tries are answered by the test.
  void Deliver() {
    sender_->Deliver("report",
                     [this](ReportSender::Answer answer) { tries_.push_back(std::move(answer)); });
  }

  ManualLoop loop_;
  FixedRandom random_;
  std::vector<ReportSender::Answer> tries_;
  std::unique_ptr<ReportSender> sender_ = std::make_unique<ReportSender>(loop_, random_);
};

TEST_F(ReportSenderTest, RepeatsUntilTheMasterAnswers) {
  Deliver();
  for (std::size_t i = 1; i <= 10; ++i) {
    ASSERT_EQ(tries_.size(), i);
    tries_.back()(i % 2 ? absl::UnavailableError("no master")
                        : absl::DeadlineExceededError("no answer"));
    loop_.Advance(absl::Seconds(2));
  }
  ASSERT_EQ(tries_.size(), 11u);
  tries_.back()(absl::OkStatus());
  EXPECT_EQ(sender_->pending(), 0u);
  loop_.Advance(absl::Seconds(10));
  EXPECT_EQ(tries_.size(), 11u);
  EXPECT_TRUE(loop_.idle());
}

// As gRPC's server says of a request that it cannot read, and its client of such an answer.
TEST_F(ReportSenderTest, OneThatWasGarbledOnItsWayIsRepeated) {
  Deliver();
  for (const absl::Status& garbled :
       {absl::UnimplementedError(""), absl::InternalError("no message"), absl::UnknownError("")}) {
    const std::size_t before = tries_.size();
    tries_.back()(garbled);
    EXPECT_EQ(sender_->pending(), 1u) << garbled << ": nobody would tell the master";
    loop_.Advance(absl::Seconds(2));
    ASSERT_EQ(tries_.size(), before + 1) << garbled;
  }
  tries_.back()(absl::OkStatus());
  EXPECT_EQ(sender_->pending(), 0u);
  EXPECT_TRUE(loop_.idle());
}

TEST_F(ReportSenderTest, ARefusalEndsIt) {
  Deliver();
  tries_.back()(absl::AbortedError("old epoch"));
  EXPECT_EQ(sender_->pending(), 0u);
  EXPECT_TRUE(loop_.idle());
}

TEST_F(ReportSenderTest, NothingHappensAfterStopOrDestruction) {
  Deliver();
  Deliver();
  tries_[0](absl::UnavailableError("no master"));
  sender_->Stop();
  EXPECT_EQ(sender_->pending(), 0u);
  EXPECT_TRUE(loop_.idle());
  Deliver();
  sender_.reset();
  tries_[1](absl::UnavailableError("late"));
  tries_[2](absl::UnavailableError("late"));
  EXPECT_TRUE(loop_.idle());
}

}  // namespace
}  // namespace weir::worker
